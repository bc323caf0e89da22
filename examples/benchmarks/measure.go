package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A job is one benchmark at one size, run by a process of its own, so that the
// process's peak of memory is that of the size.
type job struct {
	folder, name string
	repeats      int
	once         bool // in the first round only
}

// jobs lists each benchmark once, however many shapes look at it.
func jobs(chosen []shape, short bool) (all []job) {
	for _, s := range chosen {
		for _, at := range s.sizes {
			j := job{s.folder, s.name(at), s.repeats(at, short), s.once}
			if !slices.ContainsFunc(all, func(k job) bool { return k.folder == j.folder && k.name == j.name }) {
				all = append(all, j)
			}
		}
	}
	return all
}

// measure runs all benchmarks and returns the results, those until then if one
// fails. Each round runs each
// benchmark once: what slows the machine for a while hits one round of many
// benchmarks and not all runs of one.
func measure(chosen []shape, o *options, stderr io.Writer) ([]byte, error) {
	root, err := projectRoot()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "benchmarks-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	all := jobs(chosen, o.short)
	binaries, err := build(all, root, folder)
	if err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	raw.WriteString(environment(root))
	count := o.count
	if o.short {
		count = 1
	}
	defer o.tell(stderr, "")
	for round := range count {
		for i, j := range all {
			if j.once && round > 0 {
				continue
			}
			o.tell(stderr, fmt.Sprintf("round %d of %d, %d of %d: %s", round+1, count, i+1, len(all), j.name))
			out, err := j.run(binaries[j.folder], filepath.Join(root, j.folder))
			if err != nil {
				return raw.Bytes(), fmt.Errorf("%s: %w", j.name, err)
			}
			raw.Write(out)
		}
	}
	return raw.Bytes(), nil
}

// tell replaces the line of progress.
func (o *options) tell(stderr io.Writer, line string) {
	if o.progress {
		fmt.Fprintf(stderr, "\r\x1b[K%s", line)
	}
}

// projectRoot is the first folder from here upwards that is the module's.
func projectRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n") {
			return folder, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("not in a clone of the project")
		}
		folder = filepath.Dir(folder)
	}
}

// build makes a test binary of each package.
func build(all []job, root, folder string) (map[string]string, error) {
	binaries := make(map[string]string)
	for _, j := range all {
		if binaries[j.folder] != "" {
			continue
		}
		binary := filepath.Join(folder, strconv.Itoa(len(binaries))+".test")
		command := exec.Command("go", "test", "-c", "-o", binary, "./"+j.folder)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c ./%s: %w\n%s", j.folder, err, out)
		}
		binaries[j.folder] = binary
	}
	return binaries, nil
}

// run is one run of the job in the folder of its package, with the peak of the
// process's memory as one more result.
func (j job) run(binary, folder string) ([]byte, error) {
	var pattern []string
	for _, part := range strings.Split("Benchmark"+j.name, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	command := exec.Command(binary, "-test.run=^$", "-test.bench="+strings.Join(pattern, "/"), "-test.benchmem",
		"-test.benchtime="+strconv.Itoa(j.repeats)+"x", "-test.timeout=1h")
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("\nBenchmark")) {
		return nil, fmt.Errorf("there is no such benchmark in ./%s", j.folder)
	}
	out = bytes.TrimSuffix(out, []byte("PASS\n"))
	if bytes, ok := peakMemory(command.ProcessState); ok {
		out = fmt.Appendf(out, "Benchmark%s/peak 1 %d peak-RSS-B\n", j.name, bytes)
	}
	return out, nil
}

// environment says what the results need to be understood.
func environment(root string) string {
	lines := []string{
		"date: " + time.Now().UTC().Format(time.DateOnly),
		"toolchain: " + runtime.Version(),
		"cores: " + strconv.Itoa(runtime.NumCPU()),
		"commit: " + commit(root),
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ := strings.Cut(string(text), " ")
		lines = append(lines, "load: "+load)
	}
	return strings.Join(lines, "\n") + "\n"
}

// commit names what is measured.
func commit(root string) string {
	head, err := exec.Command("git", "-C", root, "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(head))
	if changed, err := exec.Command("git", "-C", root, "status", "--porcelain", "--", "*.go").Output(); err != nil || len(changed) > 0 {
		name += " with changes"
	}
	return name
}

// The results of README.md's tables and these, from the root.
const (
	kept   = "examples/benchmarks/testdata/measured.txt"
	readme = "examples/benchmarks/README.md"
)

// The tables stand in README.md between these lines.
const (
	beginTables = "<!-- benchmarks: what examples/benchmarks -update-readme writes -->\n"
	endTables   = "<!-- benchmarks: end -->\n"
)

// updateReadme keeps the results and puts their tables into README.md.
func updateReadme(raw []byte, tables string) error {
	root, err := projectRoot()
	if err != nil {
		return err
	}
	page := filepath.Join(root, filepath.FromSlash(readme))
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	now, err := withTables(string(text), tables)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(kept)), raw, 0o666); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(now), 0o666)
}

// withTables replaces what stands between the marks.
func withTables(text, tables string) (string, error) {
	before, rest, ok1 := strings.Cut(text, beginTables)
	_, after, ok2 := strings.Cut(rest, endTables)
	if !ok1 || !ok2 {
		return "", errors.New("README.md has no marks for the tables")
	}
	return before + beginTables + tables + endTables + after, nil
}
