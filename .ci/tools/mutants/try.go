package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// notTried are tests of the repository, not of the code; or of memory and of what is
// inlined, which the mutants beside one another change.
const notTried = "^TestTidy|^TestMayImport|^TestRatchet|^TestReadme|Allocat|Memory$"

// noEnd is told where the tests did not come to an end.
const noEnd = "no end"

// try has the tests look for the mutant, the likeliest first.
func (r *run) try(m *mutant) {
	begin := time.Now()
	defer func() { m.took = time.Since(begin) }()
	m.verdict = survives
	for _, t := range r.attempts(m) {
		binary, err := r.binary(m, t.folder)
		if err != nil {
			m.verdict, m.by = broken, err.Error()
			return
		}
		failed, name := r.fails(binary, m.chosen(), t)
		if failed && r.sound(binary, t.folder, name) {
			m.verdict, m.by = noticed, name
			if t.named {
				m.by = "as named"
			}
			return
		}
	}
}

// chosen is how a mutant is chosen in its binary.
func (m *mutant) chosen() int {
	if m.alone {
		return 0
	}
	return m.number
}

// sound says whether a test holds where nothing is broken: one that does not notices
// nothing. It is asked for once.
func (r *run) sound(binary, folder, name string) bool {
	if name == noEnd || strings.Contains(binary, "@") {
		return true
	}
	r.lock.Lock()
	known, there := r.holds[binary+" "+name]
	r.lock.Unlock()
	if there {
		return known
	}
	flags := []string{"-test.run=" + exactly(regexp.QuoteMeta(name))}
	if name == "" {
		flags = []string{"-test.short"}
	}
	failed, by := r.fails(binary, 0, attempt{folder, flags, false})
	if failed {
		fmt.Printf("unsound: %s fails where nothing is broken (%s)\n", name, by)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.holds[binary+" "+name] = !failed
	return !failed
}

// An attempt is a choice of tests of a folder.
type attempt struct {
	folder string
	flags  []string
	named  bool
}

func (r *run) attempts(m *mutant) (list []attempt) {
	test, _, _ := strings.Cut(m.killer, "/")
	for _, folder := range r.folders[test] {
		list = append(list, attempt{folder, []string{"-test.run=" + exactly(m.killer)}, true})
	}
	rule, _, _ := strings.Cut(m.rule, " ")
	list = append(list,
		attempt{".", []string{"-test.run=^(TestScenarios|TestStabilityCases)$/^(rules$|" + rule + "-)/^" + rule + "-"}, false})
	if folder := filepath.Dir(m.file); folder != "." {
		list = append(list, attempt{folder, []string{"-test.short"}, false})
	}
	return append(list, attempt{".", []string{"-test.short", "-test.run=" + r.last}, false})
}

// exactly is the expression that chooses one test or one subtest.
func exactly(test string) string {
	if test == "" {
		return ""
	}
	return "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
}

// binary builds the tests of a folder, once, with all mutants or with the one that is
// built by itself.
func (r *run) binary(m *mutant, folder string) (string, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	key, overlay := folder, filepath.Join(r.work, "woven.json")
	if m.alone {
		key = fmt.Sprint(folder, "@", m.number)
		overlay = filepath.Join(r.work, fmt.Sprint(m.number, ".json"))
		source, err := os.ReadFile(filepath.Join(r.repo, m.file))
		if err != nil {
			return "", err
		}
		if strings.Count(string(source), m.old) != 1 {
			return "", errors.New("its text does not stand there once")
		}
		changed := r.file(fmt.Sprint(m.number, ".go"), strings.Replace(string(source), m.old, m.new, 1))
		if err := r.overlay(filepath.Base(overlay), map[string]string{filepath.Join(r.repo, m.file): changed}); err != nil {
			return "", err
		}
	}
	if known, there := r.binaries[key]; there {
		return known, nil
	}
	path := filepath.Join(r.work, strings.NewReplacer("/", "-", ".", "root").Replace(key)+".test")
	if out, err := r.goTool("test", "-c", "-vet=off", "-overlay="+overlay, "-o", path, "./"+filepath.ToSlash(folder)); err != nil {
		return "", errors.New(strings.ReplaceAll(strings.TrimSpace(out), "\n", " "))
	}
	if _, err := os.Stat(path); err != nil {
		return "", nil // a folder without tests
	}
	r.binaries[key] = path
	return path, nil
}

// fails runs tests with the mutant and says whether one fails, and which.
func (r *run) fails(binary string, number int, t attempt) (bool, string) {
	if binary == "" {
		return false, ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.each+10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, binary, append(t.flags, "-test.failfast", "-test.timeout="+r.each.String(), "-test.skip="+notTried)...)
	c.Dir = filepath.Join(r.repo, t.folder)
	c.Env = append(os.Environ(), fmt.Sprint("MUTANT=", number), "ALLOT_DEEP=", "ALLOT_SEED=")
	out, err := c.CombinedOutput()
	if err == nil {
		return false, ""
	}
	name := ""
	for line := range strings.Lines(string(out)) { // the innermost
		if _, after, found := strings.Cut(line, "--- FAIL: "); found {
			name, _, _ = strings.Cut(after, " ")
		}
		if strings.HasPrefix(line, "panic: test timed out") {
			return true, noEnd
		}
	}
	return true, name
}
