// Package importer makes a state of what other schedulers tell about themselves:
// Kubernetes with KAI or Kueue (kubectl -o json or yaml), Slurm (scontrol show, sacct -P,
// sinfo), Run:ai projects, OSMO pools. What it could not take over it lists ([Note]): an
// import that is silent about what it drops would be believed.
//
// A format is recognised by what stands in a file. Amounts are exact or a note; names
// that would clash are made different and noted. Whatever the input, importing takes
// memory in proportion to it and no more than [input.MaxFile] and mostThings allow: of
// 16 MiB less than 2 GiB.
package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
)

// mostThings bounds nodes, queues, jobs and tasks, each.
const mostThings = 1 << 20

// A Note is something that was not taken over, or was taken over otherwise.
type Note struct {
	// What it is, and how often it came; Example is the first thing it is of.
	What    string `json:"what"`
	Count   int    `json:"count"`
	Example string `json:"example,omitzero"`
}

// A Result is what an import has come to.
type Result struct {
	State *allot.State `json:"state"`
	// Notes are what could not be taken over, by what they say.
	Notes []Note `json:"notes,omitempty"`
	// Formats are what was recognised.
	Formats []string `json:"formats"`
}

// An importing is an import while it is made.
type importing struct {
	state   allot.State
	notes   map[string]*Note
	formats map[string]bool
	// preset is the policy that the source is under; "" is none.
	preset func() allot.Policy
	kube   kube
	slurm  slurm
}

// note says that something was not taken over.
func (m *importing) note(example, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if n := m.notes[what]; n != nil {
		n.Count++
		return
	}
	if len(m.notes) < 10_000 {
		m.notes[what] = &Note{what, 1, example}
	}
}

// Import makes one state of all files. The instant is that of the import, and the zero
// time leaves it unset. The error says which file is of no known format, or what in the
// result is unsound all the same.
func Import(files []input.File, now time.Time) (*Result, error) {
	m := &importing{notes: make(map[string]*Note), formats: make(map[string]bool)}
	m.state.Now = now.UTC().Truncate(time.Second)
	for _, f := range files {
		if err := m.file(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := m.kubernetesEnd(); err != nil {
		return nil, err
	}
	m.slurmEnd()
	m.finish()
	if err := allot.Check(&m.state); err != nil {
		return nil, fmt.Errorf("what was imported is no sound state: %w", err)
	}
	out := &Result{State: &m.state}
	for _, n := range m.notes { // sorted below
		out.Notes = append(out.Notes, *n)
	}
	slices.SortFunc(out.Notes, func(a, b Note) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.What, b.What)) })
	for f := range m.formats { // sorted below
		out.Formats = append(out.Formats, f)
	}
	slices.Sort(out.Formats)
	return out, nil
}

// file reads one file in the format that it has.
func (m *importing) file(f input.File) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(f.Data, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return fmt.Errorf("is empty")
	case text[0] == '{' || text[0] == '[':
		return m.jsonFiles(text)
	case bytes.IndexByte(text, 0) >= 0:
		return fmt.Errorf("is no text in UTF-8, as what PowerShell writes: take Out-File -Encoding utf8")
	case isSlurm(text):
		m.formats["slurm"] = true
		return m.slurmFile(string(text))
	case bytes.Contains(text, []byte("kind:")):
		if len(text) > input.MaxYAML {
			return fmt.Errorf("is larger than %d MiB as YAML; take -o json", input.MaxYAML>>20)
		}
		for _, part := range bytes.Split(text, []byte("\n---")) {
			value, err := input.Plain(part)
			if err != nil {
				return err
			}
			if value == nil {
				continue
			}
			exact, err := json.Marshal(value)
			if err != nil {
				return err
			}
			if err := m.jsonFile(exact, mostNested); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("is of no known format: kubectl -o json, scontrol show, sacct -P, sinfo, Run:ai projects or osmo pool list -t json")
}

// jsonFiles reads documents one after the other, as of several commands into one file.
func (m *importing) jsonFiles(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var one json.RawMessage
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errNoJSON
		}
		if err := m.jsonFile(one, mostNested); err != nil {
			return err
		}
	}
}

var errNoJSON = errors.New("begins like JSON and is none")

// mostNested is how deep lists of documents may lie in each other: each is read anew.
const mostNested = 4

// jsonFile tells the formats in JSON apart.
func (m *importing) jsonFile(text []byte, nested int) error {
	var head struct {
		Kind        string            `json:"kind"`
		Items       []json.RawMessage `json:"items"`
		Projects    []json.RawMessage `json:"projects"`
		Departments []json.RawMessage `json:"departments"`
		NodeSets    []json.RawMessage `json:"node_sets"`
		Pools       json.RawMessage   `json:"pools"`
	}
	if text[0] == '[' {
		if nested == 0 {
			return fmt.Errorf("has more than %d lists in each other where objects were to stand", mostNested)
		}
		var entries []json.RawMessage
		if err := json.Unmarshal(text, &entries); err != nil {
			return err
		}
		for _, e := range entries {
			if err := m.jsonFile(bytes.TrimSpace(e), nested-1); err != nil {
				return err
			}
		}
		return nil
	}
	if text[0] != '{' {
		return fmt.Errorf("has %.20s where an object was to stand", text)
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	switch {
	case head.Projects != nil || head.Departments != nil:
		m.formats["runai"] = true
		return m.runaiFile(head.Departments, head.Projects)
	case head.NodeSets != nil || head.Pools != nil && head.Kind == "":
		m.formats["osmo"] = true
		return m.osmoFile(text)
	case head.Kind == "List" || strings.HasSuffix(head.Kind, "List") && head.Items != nil:
		for _, item := range head.Items {
			if err := m.object(item); err != nil {
				return err
			}
		}
		m.formats["kubernetes"] = true
		return nil
	case head.Kind != "":
		m.formats["kubernetes"] = true
		return m.object(text)
	}
	return fmt.Errorf("is JSON of no known format")
}

// finish gives the state what all formats need: a pool for the policy, and a queue for
// work that has none.
func (m *importing) finish() {
	s := &m.state
	if m.preset != nil && len(s.Pools) == 0 {
		s.Pools = []allot.Pool{{ID: "main", Policy: m.preset()}}
	}
	s.Queues = once(m, s.Queues, "queue", func(q *allot.Queue) string { return q.ID })
	s.Pools = once(m, s.Pools, "pool", func(p *allot.Pool) string { return p.ID })
	s.Workloads = once(m, s.Workloads, "job", func(w *allot.Workload) string { return w.ID })
	known, inner := make(map[string]bool), make(map[string]bool)
	for i := range s.Queues {
		known[s.Queues[i].ID] = true
		inner[s.Queues[i].Parent] = true
	}
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Parent != "" && !known[q.Parent] {
			m.note(q.ID, "a queue above is not among what was given: the queue stands at the top")
			q.Parent = ""
		}
	}
	if len(s.Queues) == 0 {
		for i := range s.Workloads {
			s.Workloads[i].Queue = ""
		}
		return
	}
	const lost = "unassigned"
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if known[w.Queue] && !inner[w.Queue] && w.Queue != "" {
			continue
		}
		m.note(w.ID, "jobs of no queue, or of one that is not among what was given, are in queue %s", lost)
		w.Queue = lost
		if !known[lost] {
			known[lost] = true
			s.Queues = append(s.Queues, allot.Queue{ID: lost})
		}
	}
}

// once are the entries of a list without those that have no name or that of one before.
func once[T any](m *importing, list []T, what string, id func(*T) string) []T {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(one T) bool {
		name := id(&one)
		if name != "" && !seen[name] {
			seen[name] = true
			return false
		}
		m.note(name, "a %s that is listed twice, or has no name, is taken once or not", what)
		return true
	})
}
