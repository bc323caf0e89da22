package explain

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// The states that properties are asked of: what the scenarios of the project come
// to, with something changed. Every rule has its scenario, so there is something of
// everything.

var updateGolden = flag.Bool("update-golden", false, "rewrite the golden texts of differences, consequences and what helps")

// scenarioStates are the states that the solves of all scenarios see.
var scenarioStates = sync.OnceValue(func() (states []*allot.State) {
	_ = filepath.WalkDir(filepath.Join("..", "testdata"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txt" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "solve") {
				continue
			}
			s, err := scenario.State(strings.Join(lines[:i], ""))
			if err == nil && allot.Check(s) == nil {
				states = append(states, s)
			}
		}
		return nil
	})
	return states
})

func TestScenarioStates(t *testing.T) {
	if n := len(scenarioStates()); n < 200 {
		t.Errorf("only %d states were found", n)
	}
}

// Every question has an answer in every state that a scenario comes to.
func TestAnswersInScenarios(t *testing.T) {
	for i, s := range scenarioStates() {
		if testing.Short() && i%4 > 0 {
			continue
		}
		d := decide(t, s)
		for _, w := range s.Workloads[:min(2, len(s.Workloads))] {
			h, err := WhatHelps(t.Context(), d, w.ID, HelpSearch{Solves: 5})
			if err == nil && h.Solves > 5 {
				t.Fatalf("%d solves\n%s", h.Solves, scenario.Format(s))
			}
			if err == nil {
				_, err = WhatIf(t.Context(), d.Snapshot(), allot.Change{Remove: allot.Removal{Workloads: []string{w.ID}}})
			}
			if err == nil {
				w.ID, w.Tasks, w.Form, w.Ending, w.PartialSince = "", nil, 0, false, time.Time{}
				_, err = Reclaim(t.Context(), d, w)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, scenario.Format(s))
			}
		}
	}
}

// A draw makes choices.
type draw struct{ *rapid.T }

// chance is true once in n times.
func (d draw) chance(n int) bool { return d.upTo(n-1) == n-1 }

func (d draw) upTo(n int) int { return rapid.IntRange(0, n).Draw(d.T, "n") }

func pick[T any](d draw, from ...T) T { return rapid.SampledFrom(from).Draw(d.T, "pick") }

// genState draws a state of a scenario, or what a change makes of it.
func genState(t *rapid.T) *allot.State {
	list := scenarioStates()
	s := list[draw{t}.upTo(len(list)-1)]
	snapshot := must(allot.NewSnapshot(s))
	for range (draw{t}).upTo(2) {
		if next, err := snapshot.With(genChange(t, snapshot.State())); err == nil {
			snapshot = next
		}
	}
	return snapshot.State()
}

func decide(t testing.TB, s *allot.State) *allot.Decision {
	t.Helper()
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func jsonOf(t *rapid.T, s *allot.State) string {
	text, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exact compares plans field by field.
var exact = cmp.Options{cmpopts.EquateComparable(quota.Bound{})}

type fataler interface{ Fatalf(string, ...any) }

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// everyField reads a document that has every field, and holds it to the value of
// which each has something, both ways.
func everyField(t *testing.T, file string, v, read json.Unmarshaler) {
	t.Helper()
	data := readAs(t, file, v, read)
	if written := must(json.MarshalIndent(v, "", "  ")); string(data) != string(written)+"\n" {
		t.Errorf("%s is written otherwise:\n%s", file, written)
	}
}

// readAs compares what a file is read as with a value, and returns the file.
func readAs(t *testing.T, file string, v, read json.Unmarshaler) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err := errors.Join(err, read.UnmarshalJSON(data)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, read, exact); diff != "" {
		t.Errorf("%s is read as something else:\n%s", file, diff)
	}
	return data
}

// fill sets every field to something, every list and map to one entry.
func fill(t *testing.T, v reflect.Value, path string) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case reflect.TypeFor[quota.Bound]():
		v.Set(reflect.ValueOf(quota.Of(1)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path+"[0]")
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		t.Fatalf("%s: fill knows no %s", path, v.Kind())
	}
}
