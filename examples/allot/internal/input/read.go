package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
)

// A File is the name of a file and what is in it.
type File struct {
	Name string
	Data []byte
}

// Open reads the files of the names: "-" is standard input, and a folder is all of its
// files that end with .yaml, .yml or .json, in the order of their names.
func Open(names []string, stdin io.Reader) ([]File, error) {
	var files []File
	for _, name := range names {
		paths := []string{name}
		if name != "-" {
			info, err := os.Stat(name)
			if err != nil {
				return nil, err
			}
			if info.IsDir() {
				if paths, err = inFolder(name); err != nil {
					return nil, err
				}
			}
		}
		for _, path := range paths {
			data, err := slurp(path, stdin)
			if err != nil {
				return nil, err
			}
			files = append(files, File{path, data})
		}
	}
	return files, nil
}

// inFolder are the files of a folder that may be states.
func inFolder(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: the folder has no file that ends with .yaml, .yml or .json", folder)
	}
	return paths, nil
}

// slurp reads a file of bounded size.
func slurp(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: is larger than %d MiB", name, MaxFile>>20)
	}
	return data, nil
}

// A Document is a state with where each part of it stands.
type Document struct {
	State *allot.State
	parts []part
}

// A part is a file with the lists of it.
type part struct {
	File
	state allot.State
	// first are the indices in the whole of the first of each list.
	first map[string]int
}

// State reads the files as one state and checks it. The error is an [*Error].
func State(files []File) (*Document, error) {
	d := &Document{State: &allot.State{}}
	var all []Fault
	for _, f := range files {
		p := part{File: f}
		if faults := readState(f, &p.state); len(faults) > 0 {
			all = append(all, faults...)
			continue
		}
		all = append(all, d.add(p)...)
	}
	if len(all) > 0 {
		return nil, &Error{all}
	}
	if err := allot.Check(d.State); err != nil {
		return nil, d.Locate(err)
	}
	return d, nil
}

// add puts a file behind those before it. What can be said once only is a fault where
// it is said otherwise.
func (d *Document) add(p part) []Fault {
	s, more := d.State, &p.state
	p.first = map[string]int{
		"nodes": len(s.Nodes), "pools": len(s.Pools), "queues": len(s.Queues), "workloads": len(s.Workloads), "budgets": len(s.Budgets), "reservations": len(s.Reservations), "levels": 0,
	}
	var faults []Fault
	twice := func(name, value string) {
		faults = append(faults, Fault{p.Name, lineOf(p.File, stateForm, name), allot.Fault{
			Path: name, Code: allot.FaultDuplicate, Value: value, Want: "must be said by one file only, and another says otherwise",
		}})
	}
	switch {
	case s.Now.IsZero():
		s.Now = more.Now
	case !more.Now.IsZero() && !more.Now.Equal(s.Now):
		twice("now", more.Now.String())
	}
	switch {
	case s.Revision == "":
		s.Revision = more.Revision
	case more.Revision != "" && more.Revision != s.Revision:
		twice("revision", strconv.Quote(more.Revision))
	}
	switch {
	case len(s.Levels) == 0:
		s.Levels = more.Levels
	case len(more.Levels) > 0 && !slices.Equal(more.Levels, s.Levels):
		twice("levels", "")
	}
	s.Nodes = append(s.Nodes, more.Nodes...)
	s.Pools = append(s.Pools, more.Pools...)
	s.Queues = append(s.Queues, more.Queues...)
	s.Workloads = append(s.Workloads, more.Workloads...)
	s.Budgets = append(s.Budgets, more.Budgets...)
	s.Reservations = append(s.Reservations, more.Reservations...)
	d.parts = append(d.parts, p)
	return faults
}

// listEntry is the beginning of a path into one of the lists of a state.
var listEntry = regexp.MustCompile(`^([a-z]+)\[(\d+)\]`)

// Locate is an error of the library about the state with the files and lines of its
// faults. Another error stays as it is.
func (d *Document) Locate(err error) error {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	out := &Error{}
	told := invalid.Faults[:min(len(invalid.Faults), mostFaults)]
	at, of := make([]*part, len(told)), make(map[*part][]allot.Fault) // by part, as they are there
	for i, f := range told {
		at[i], f = d.partOf(f)
		of[at[i]] = append(of[at[i]], f)
	}
	lines := make(map[*part]map[string]int)
	for p, faults := range of { // each by itself: order cannot matter
		if p != nil {
			lines[p] = linesOf(p.File, stateForm, faults)
		}
	}
	for _, p := range at {
		one := Fault{"", 0, of[p][0]}
		if of[p] = of[p][1:]; p != nil {
			one.File, one.Line = p.Name, nearest(lines[p], one.Path)
		}
		out.Faults = append(out.Faults, one)
	}
	if more := len(invalid.Faults) - len(told); more > 0 {
		out.Faults = append(out.Faults, untold("", more))
	}
	return out
}

// partOf is the part that a fault is of, nil if it is of none, and the fault as it is
// there.
func (d *Document) partOf(f allot.Fault) (*part, allot.Fault) {
	for i := len(d.parts) - 1; i >= 0; i-- {
		p := &d.parts[i]
		local := f.Path
		if m := listEntry.FindStringSubmatch(f.Path); m != nil {
			index, err := strconv.Atoi(m[2])
			if err != nil || index < p.first[m[1]] {
				continue
			}
			local = m[1] + "[" + strconv.Itoa(index-p.first[m[1]]) + "]" + f.Path[len(m[0]):]
		}
		f.Path = local
		return p, f
	}
	return nil, f
}

// readState reads one file.
func readState(f File, into *allot.State) []Fault {
	if IsScenario(f.Data) {
		return readScenario(f, into)
	}
	return read(f, stateForm, into.UnmarshalJSON)
}

// read reads a file of a form by what takes its exact JSON.
func read(f File, form *jsonform.Form, take func([]byte) error) []Fault {
	var strict error
	if fault := crowded(f); fault != nil {
		return []Fault{*fault}
	}
	if trimmed := bytes.TrimLeft(f.Data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		if strict = take(f.Data); strict == nil {
			return nil // the exact form: nothing to unfold
		}
	}
	w, fault := unfold(f, form, nil)
	if fault != nil && strict != nil {
		told := located(f, faultsOf(strict), none) // JSON says more of itself than YAML does
		if fault.Code == allot.FaultTooMany {
			const some = 20 // of why it is not right JSON, which it would have to be
			told = append([]Fault{*fault}, told[:min(len(told), some)]...)
		}
		return told
	}
	if fault != nil {
		return []Fault{*fault}
	}
	var err error
	if !w.full {
		err = take(w.out.Bytes())
	}
	if err == nil && len(w.faults) == 0 {
		return nil
	}
	if w.full {
		return located(f, w.faults, none) // nothing else of it is told, so as not to unfold it again
	}
	return located(f, append(w.faults, faultsOf(err)...), func(paths []allot.Fault) map[string]int { return linesOf(f, form, paths) })
}

// none is that no lines are known.
func none([]allot.Fault) map[string]int { return nil }

// faultsOf are the faults of an error of the library.
func faultsOf(err error) []allot.Fault {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		return nil
	}
	return invalid.Faults
}

// mostFaults is how many faults of a file, or of all together, are told.
const mostFaults = 1000

// untold is a fault in place of those that are not told.
func untold(name string, n int) Fault {
	return Fault{name, 0, allot.Fault{Path: "$", Code: allot.FaultTooMany, Want: "has " + strconv.Itoa(n) + " more faults, which are not told"}}
}

// located are faults of a file with their lines, which are looked for of so many of them as
// are told.
func located(f File, faults []allot.Fault, linesOf func(of []allot.Fault) map[string]int) []Fault {
	told := faults[:min(len(faults), mostFaults)]
	lines := linesOf(told)
	var out []Fault
	for i := range told {
		out = append(out, Fault{f.Name, nearest(lines, told[i].Path), told[i]})
	}
	if more := len(faults) - len(told); more > 0 {
		out = append(out, untold(f.Name, more))
	}
	return out
}

// crowded is a fault of a file that has more in it than its size could need: what is read
// takes memory by values and not by bytes.
func crowded(f File) *Fault {
	const own, each = 256 << 10, 20 // an object for each so many bytes, beyond some
	if objects := bytes.Count(f.Data, []byte("{")); objects > own+len(f.Data)/each {
		return &Fault{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultTooMany, Want: "must not have as many as " + strconv.Itoa(objects) + " objects in so few bytes"}}
	}
	return nil
}

// separators are what parts values of YAML: there are no more values than of these.
func separators(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case ',', '\n', ':', '[', '{':
			n++
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// unfold walks a file. The fault is one of syntax.
func unfold(f File, form *jsonform.Form, wanted map[string]bool) (*walker, *Fault) {
	tree, fault := parse(f)
	if fault != nil {
		return nil, fault
	}
	w := &walker{wanted: wanted, places: make(map[string]int), left: valuesOf(len(f.Data))}
	w.document(tree, form)
	return w, nil
}

// parse reads the tree of a file that is not too much. The fault is one of syntax.
func parse(f File) (*yaml.Node, *Fault) {
	if len(f.Data) > MaxYAML {
		return nil, &Fault{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultTooMany, Want: "must be at most " + strconv.Itoa(MaxYAML>>20) +
			" MiB, or be right JSON in the exact form"}}
	}
	if n := separators(f.Data); n > maxSeparators {
		return nil, &Fault{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultTooMany, Want: "must have at most " + strconv.Itoa(maxSeparators) +
			" commas, colons, lines and the like, or be right JSON in the exact form"}}
	}
	var tree, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(f.Data))
	if err := documents.Decode(&tree); err != nil && err != io.EOF {
		return nil, syntax(f.Name, err)
	}
	switch err := documents.Decode(&more); { // what nobody reads must not be taken for read
	case err == nil:
		return nil, &Fault{f.Name, more.Line, allot.Fault{Path: "$", Code: allot.FaultTrailing, Want: "must be one document, and another follows"}}
	case err != io.EOF:
		return nil, syntax(f.Name, err)
	}
	if tree.Kind != yaml.DocumentNode || len(tree.Content) != 1 {
		return nil, &Fault{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultSyntax, Want: "must be a document, and is empty"}}
	}
	return tree.Content[0], nil
}

// yamlLine is how the library for YAML says where.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func syntax(name string, err error) *Fault {
	text, line := err.Error(), 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // no number is line 0: not known
		text = text[len(m[0]):]
	}
	return &Fault{name, line, allot.Fault{Path: "$", Code: allot.FaultSyntax, Want: "must be YAML or JSON: " + text}}
}

// document walks the whole: it says which form it is, and may have a policy of its
// own.
func (w *walker) document(n *yaml.Node, form *jsonform.Form) {
	if n = w.enter(n); n == nil || n.Kind != yaml.MappingNode {
		w.fault(allot.FaultType, "", "must be an object with the fields of a state")
		w.out.WriteString(`{"version":1}`)
		return
	}
	pairs := w.pairs(n)
	var rest []pair
	var policy *yaml.Node
	for _, p := range pairs {
		switch {
		case p.key.Value == "version":
			w.exact = true
			rest = append(rest, p)
		case p.key.Value == "policy" && form == stateForm:
			policy = p.value
		default:
			rest = append(rest, p)
		}
	}
	if !w.exact {
		version := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1", Line: n.Line}
		rest = append([]pair{{&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "version"}, version}}, rest...)
	}
	if policy != nil {
		rest = w.onePool(rest, policy)
	}
	w.object(rest, form)
}

// mainPool is the name of the pool of a document that has a policy and no pools.
const mainPool = "main"

// onePool gives a document that has a policy the pool that is under it.
func (w *walker) onePool(pairs []pair, policy *yaml.Node) []pair {
	for _, p := range pairs {
		if p.key.Value == "pools" {
			w.path = append(w.path, field("policy"))
			w.fault(allot.FaultExclusive, "", "must be that of a pool where there are pools")
			w.path = w.path[:len(w.path)-1]
			return pairs
		}
	}
	word := func(text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: policy.Line}
	}
	pool := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: policy.Line, Content: []*yaml.Node{word("id"), word(mainPool), word("policy"), policy}}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: policy.Line, Content: []*yaml.Node{pool}}
	return append(pairs, pair{word("pools"), list})
}

// linesOf are the lines of the places of faults in a file, and of those around them.
func linesOf(f File, form *jsonform.Form, faults []allot.Fault) map[string]int {
	w, fault := unfold(f, form, around(faults))
	if fault != nil {
		return nil
	}
	return w.places
}

// around are the places of faults and those around them.
func around(faults []allot.Fault) map[string]bool {
	wanted := map[string]bool{"$": true}
	for i := range faults {
		for path := faults[i].Path; path != "" && !wanted[path]; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
			wanted[path] = true
		}
	}
	return wanted
}

func lineOf(f File, form *jsonform.Form, path string) int {
	return nearest(linesOf(f, form, []allot.Fault{{Path: path}}), path)
}

// nearest is the line of a place, or of the nearest place around it that has one.
func nearest(lines map[string]int, path string) int {
	for path != "" {
		if line := lines[path]; line > 0 {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return lines["$"]
}
