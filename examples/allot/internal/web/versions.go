package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/desk"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/verify"
)

// A version is a state with what is decided of it.
type version struct {
	name string
	desk.Subject

	lock  sync.Mutex
	pages map[string][]byte // what has been made of it, by address
	bytes int               // of them
}

// page is what make makes, made once.
func (v *version) page(address string, make func() ([]byte, error)) ([]byte, error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if p, ok := v.pages[address]; ok {
		return p, nil
	}
	p, err := make()
	if err != nil {
		return nil, err
	}
	if len(v.pages) < keptPages && v.bytes+len(p) <= keptBytes {
		v.pages[address] = p
		v.bytes += len(p)
	}
	return p, nil
}

// A stamp says which content of a file something was made from.
type stamp struct {
	size     int64
	modified time.Time
}

// A summary is a version in figures.
type summary struct {
	Name, Now          string
	Nodes, Runs, Waits int
	Starts, Leaves     int
	Used, Usable       string
	used, usable       int64
	Problem            string
	Known              bool
	At                 stamp
}

// files are the versions of a state: one file, or the files of a folder in the order of
// their names. Whatever their names are, nothing outside of the folder is read.
type files struct {
	root *os.Root
	one  string // of a single file its name

	making    chan struct{} // held by who makes a version: of hostile files one at a time is enough
	lock      sync.Mutex
	kept      []*keptVersion // the last used is the last
	summaries map[string]summary
}

// A keptVersion is made once, by whoever asks first; version and err are there when made
// is closed.
type keptVersion struct {
	name    string
	at      stamp
	version *version
	err     error
	made    chan struct{}
}

// The bounds of what is kept and read.
const (
	keptVersions = 3
	keptPages    = 8
	keptBytes    = 24 << 20 // of the pages of a version
	mostVersions = 1000
	// MaxFile is how many bytes a state may have.
	MaxFile = 16 << 20
)

// openFiles opens a file or folder.
func openFiles(path string) (*files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &files{summaries: make(map[string]summary), making: make(chan struct{}, 1)}
	folder := path
	if !info.IsDir() {
		folder, f.one = filepath.Dir(path), filepath.Base(path)
	}
	if f.root, err = os.OpenRoot(folder); err != nil {
		return nil, err
	}
	return f, nil
}

// names lists the versions, the newest last.
func (f *files) names() ([]string, error) {
	if f.one != "" {
		return []string{f.one}, nil
	}
	folder, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(10 * mostVersions)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".json" && ext != ".yaml" && ext != ".yml" && ext != ".txt" {
			continue
		}
		// A link may lead to another file of the folder, and nowhere else.
		if info, err := f.root.Stat(e.Name()); err == nil && info.Mode().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, words.CompareNames)
	return names[max(0, len(names)-mostVersions):], nil
}

// errNoVersion is that of a name that is not among the versions.
var errNoVersion = errors.New("there is no such version")

// version reads and decides a version; an empty name is the newest one.
func (f *files) version(ctx context.Context, name string) (*version, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("the folder has no state: no file ends with .json, .yaml, .yml or .txt")
	}
	if name == "" {
		name = names[len(names)-1]
	}
	if !slices.Contains(names, name) {
		return nil, errNoVersion
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	k := f.keep(name, stamp{info.Size(), info.ModTime()})
	select {
	case <-k.made:
		return k.version, k.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep is the version of a name and a stamp, which may still be made.
func (f *files) keep(name string, at stamp) *keptVersion {
	f.lock.Lock()
	defer f.lock.Unlock()
	for i, k := range f.kept {
		if k.name == name && k.at == at {
			f.kept = append(slices.Delete(f.kept, i, i+1), k)
			return k
		}
	}
	k := &keptVersion{name: name, at: at, made: make(chan struct{})}
	f.kept = slices.DeleteFunc(f.kept, func(old *keptVersion) bool { return old.name == name })
	if len(f.kept) == keptVersions {
		f.kept = slices.Delete(f.kept, 0, 1)
	}
	f.kept = append(f.kept, k)
	go f.make(k)
	return k
}

// make makes a version in its turn. Who asked may have gone by then, as reading takes the
// time that it takes: what is decided after that has [Timeout] in all.
func (f *files) make(k *keptVersion) {
	defer close(k.made)
	f.making <- struct{}{}
	defer func() { <-f.making }()
	f.lock.Lock()
	wanted := slices.Contains(f.kept, k)
	f.lock.Unlock()
	if !wanted {
		k.err = errTooMany
		return
	}
	again := false
	defer func() {
		if again {
			f.forget(k)
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			k.version, k.err = nil, fmt.Errorf("%s: that is a bug of Allot: %v", k.name, r)
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), Timeout)
	defer stop()
	data, err := f.read(k.name)
	if err == nil {
		k.version, err = decide(ctx, k.name, data)
	}
	if err != nil && ctx.Err() != nil {
		err = &known{http.StatusServiceUnavailable, fmt.Sprintf("%s takes longer than %v to read and decide.", k.name, Timeout)}
		again = true // the machine may have had other things to do
	}
	if err != nil {
		k.version, k.err = nil, err
	}
}

// forget has a version be made again when it is asked for.
func (f *files) forget(k *keptVersion) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.kept = slices.DeleteFunc(f.kept, func(old *keptVersion) bool { return old == k })
}

// read reads a file: a regular one of bounded size.
func (f *files) read(name string) ([]byte, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrInvalid)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, MaxFile>>20)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, MaxFile>>20)
	}
	return data, nil
}

// decide makes a version of a file.
func decide(ctx context.Context, name string, data []byte) (*version, error) {
	d, err := input.State([]input.File{{Name: name, Data: data}})
	if err != nil {
		return nil, err
	}
	if err := desk.Bounded(d.State, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v := &version{name: name, Subject: desk.Subject{State: d.State}, pages: make(map[string][]byte)}
	if v.Snapshot, err = allot.NewSnapshot(d.State); err != nil {
		return nil, d.Locate(err)
	}
	return v, v.solve(ctx)
}

// solve decides on the snapshot, and has the plan verified.
func (v *version) solve(ctx context.Context) (err error) {
	if v.Decision, err = v.Snapshot.DecideContext(ctx); err != nil {
		return err
	}
	if v.Plan, err = v.Decision.Plan(); err != nil {
		return err
	}
	if err := verify.Plan(v.State, v.Plan); err != nil {
		return fmt.Errorf("%s: the plan is not lawful, which is a bug of Allot: %w", v.name, err)
	}
	return nil
}

// summarise tells of a version in figures, which are kept while the file stays as it is.
func (f *files) summarise(ctx context.Context, name string, read bool) summary {
	info, err := f.root.Stat(name)
	if err != nil {
		return summary{Name: name, Problem: "cannot be read"}
	}
	at := stamp{info.Size(), info.ModTime()}
	f.lock.Lock()
	s, ok := f.summaries[name]
	f.lock.Unlock()
	if ok && s.At == at {
		return s
	}
	if !read {
		return summary{Name: name}
	}
	s = summary{Name: name, At: at, Known: true}
	v, err := f.version(ctx, name)
	if ctx.Err() != nil {
		return summary{Name: name}
	}
	if err != nil {
		s.Problem = short(err)
	} else {
		s.figures(v)
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(f.summaries) >= 2*mostVersions {
		clear(f.summaries)
	}
	f.summaries[name] = s
	return s
}

// figures sums a version.
func (s *summary) figures(v *version) {
	s.Now, s.Nodes, s.Waits = words.Instant(v.State.Now), len(v.State.Nodes), len(v.Plan.Pending)
	for i := range v.State.Workloads {
		if len(v.State.Workloads[i].Tasks) > 0 {
			s.Runs++
		}
	}
	for i := range v.Plan.Actions {
		switch v.Plan.Actions[i].Kind {
		case allot.Start, allot.Resize:
			s.Starts++
		default:
			s.Leaves++
		}
	}
	parents := make(map[string]bool)
	for i := range v.State.Queues {
		parents[v.State.Queues[i].Parent] = true
	}
	pools := make(map[string]bool)
	for i := range v.Plan.Shares {
		share := &v.Plan.Shares[i]
		if share.Resource != allot.GPU || share.Class != "" {
			continue
		}
		if !pools[share.Pool] {
			pools[share.Pool] = true
			s.usable += share.PoolTotal
		}
		if !parents[share.Queue] {
			s.used += share.Used
		}
	}
	s.Used, s.Usable = words.Figure(allot.GPU, s.used), words.Figure(allot.GPU, s.usable)
}

// short is the first line of an error.
func short(err error) string {
	text := err.Error()
	for i, r := range text {
		if r == '\n' || i > 300 {
			return text[:i] + " …"
		}
	}
	return text
}
