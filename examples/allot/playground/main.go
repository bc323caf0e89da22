// Command playground builds the playground: one page in HTML with the library as wasm in
// it, which needs no server and no network. It is run in the folder of the program's
// module:
//
//	go run ./playground > playground.html
//
// The page has the examples of the rules, of testdata/rules. The same sources have the
// same bytes, with the same version of Go.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/allotsched/allot/examples/allot/internal/page"
	"github.com/allotsched/allot/examples/allot/internal/play"
)

func main() {
	flags := flag.NewFlagSet("playground", flag.ExitOnError)
	rules := flags.String("rules", "../../testdata/rules", "the `folder` of the examples")
	if err := flags.Parse(os.Args[1:]); err != nil || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "playground: takes no arguments")
		os.Exit(2)
	}
	if err := build(os.Stdout, *rules); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.js
	pageJS string
	//go:embed worker.js
	workerJS string
)

var pageTemplate = template.Must(template.New("playground").Parse(pageHTML))

// maxPages is how many pages of 64 KiB the wasm may have: 512 MiB.
const maxPages = 8192

// build writes the page.
func build(w io.Writer, rules string) error {
	examples, err := examplesOf(rules)
	if err != nil {
		return err
	}
	module, err := compile()
	if err != nil {
		return err
	}
	if module, err = limitMemory(module, maxPages); err != nil {
		return err
	}
	glue, err := glueOf()
	if err != nil {
		return err
	}
	packed, err := pack(module)
	if err != nil {
		return err
	}
	listed, err := json.Marshal(examples)
	if err != nil {
		return err
	}
	script := template.JS(strings.TrimSpace(pageJS))
	policy := page.Policy(script, page.Script()) + " 'wasm-unsafe-eval'; worker-src blob:; frame-src blob:"
	return pageTemplate.Execute(w, map[string]any{
		"Policy": policy, "Style": page.Style(), "Script": script, "Views": play.Views(),
		"Examples": template.JS(listed), "Worker": template.JS(quoted(glue + workerJS)), "Wasm": template.JS(`"` + base64.StdEncoding.EncodeToString(packed) + `"`),
		"Groups": groupsOf(examples), "Kilobytes": len(packed) >> 10,
	})
}

// quoted is a text as JSON, which is safe within a script of data.
func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // a string is always one
	}
	return out
}

// An example is a text to begin with.
type example struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// A group is the examples of a letter of the rules; From is the number of the first.
type group struct {
	Name     string
	Examples []numbered
}

type numbered struct {
	Number int
	example
}

// begin is the first example: a state as people write it.
//
//go:embed begin.yaml
var begin string

// examplesOf are those of the folder, after one in YAML.
func examplesOf(folder string) ([]example, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no examples", folder)
	}
	slices.Sort(paths)
	out := []example{{"A small cluster", "three teams on four nodes, as YAML", begin}}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(text) > 20<<10 {
			continue
		}
		first, _, _ := strings.Cut(string(text), "\n")
		title := strings.TrimSpace(strings.TrimPrefix(first, "#"))
		out = append(out, example{strings.TrimSuffix(filepath.Base(path), ".txt"), title, string(text)})
	}
	return out, nil
}

// groupsOf parts the examples by the letters with which their rules begin.
func groupsOf(examples []example) (groups []group) {
	for i, e := range examples {
		name := "States"
		if i > 0 {
			name = "Rules " + strings.TrimRight(strings.SplitN(e.Name, "-", 2)[0], "0123456789")
		}
		if n := len(groups); n == 0 || groups[n-1].Name != name {
			groups = append(groups, group{Name: name})
		}
		g := &groups[len(groups)-1]
		g.Examples = append(g.Examples, numbered{i, e})
	}
	return groups
}

// compile makes the wasm.
func compile() ([]byte, error) {
	folder, err := os.MkdirTemp("", "playground")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "allot.wasm")
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./playground/wasm")
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	return os.ReadFile(path)
}

// glueOf is what the version of Go brings along to run its wasm.
func glueOf() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return string(text), err
}

// pack compresses the wasm, the same every time.
func pack(module []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(module); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var errWasm = errors.New("that is no wasm with a memory of its own")

// limitMemory gives the memory of a wasm a limit, in pages: section 5 has one memory,
// with a minimum alone.
func limitMemory(module []byte, most uint64) ([]byte, error) {
	const header, memory = 8, 5
	if len(module) < header || string(module[:4]) != "\x00asm" {
		return nil, errWasm
	}
	for at := header; at < len(module); {
		id := module[at]
		size, n := leb(module[at+1:])
		begin := at + 1 + n
		end := begin + int(size)
		if n == 0 || end > len(module) {
			return nil, errWasm
		}
		if id != memory {
			at = end
			continue
		}
		body := module[begin:end]
		if len(body) < 3 || body[0] != 1 || body[1] != 0 {
			return nil, errWasm
		}
		body = append([]byte{1, 1}, body[2:]...)
		body = appendLEB(body, most)
		out := append(slices.Clone(module[:at]), memory)
		out = appendLEB(out, uint64(len(body)))
		return append(append(out, body...), module[end:]...), nil
	}
	return nil, errWasm
}

// leb reads a number of the wasm's form and how many bytes it has, 0 if it is none.
func leb(from []byte) (value uint64, n int) {
	for i, b := range from[:min(len(from), 5)] {
		value |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}

func appendLEB(to []byte, value uint64) []byte {
	for value >= 0x80 {
		to = append(to, byte(value)|0x80)
		value >>= 7
	}
	return append(to, byte(value))
}
