package allot

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// V1: on any bytes there is an answer: faults that all have a path and a code,
// or a state whose JSON comes back the same.
func FuzzStateJSON(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "json", "state.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, row := range jsonRows {
		f.Add([]byte(row.data))
	}
	for _, row := range faultRows {
		s := sound()
		row.spoil(s)
		if data, err := s.MarshalJSON(); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if err := s.UnmarshalJSON(data); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		if err := Check(&s); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		roundTrip(t, &s)
		if tasksOf(&s) <= 10_000 { // a few bytes may ask for millions: lawful, and slow
			solveLawfully(t, &s)
		}
	})
}

// solveLawfully fails unless the state gets a plan that Verify passes, within
// the budget, and the state after it is at rest.
func solveLawfully(t fataler, s *State) {
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	j := &Judged{State: s, Plan: p}
	for _, broken := range []error{VerifyPlan(s, p), withinBudget(j), atRest(j)} {
		if broken != nil {
			t.Fatalf("%v", broken)
		}
	}
}

func wantPlacedFaults(t *testing.T, err error) {
	t.Helper()
	var all *InvalidError
	if !errors.As(err, &all) || len(all.Faults) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	for _, f := range all.Faults {
		if f.Path == "" || f.Want == "" || !prose.Known(faultNames[:], f.Code) {
			t.Fatalf("bare fault %#v", f)
		}
	}
}

// An extreme is a place of a state, and how to put something there.
type extreme struct {
	path string
	put  func(what int) bool // false where there are no so many extremes of its type
}

// extremesOf lists every value of a state that Solve reads, with its path in the JSON form.
func extremesOf(v reflect.Value, path string) (out []extreme) {
	add := func(values ...any) {
		out = append(out, extreme{path, func(what int) bool {
			if what >= len(values) {
				return false
			}
			v.Set(reflect.ValueOf(values[what]).Convert(v.Type()))
			return true
		}})
	}
	switch v.Interface().(type) {
	case time.Time:
		add(time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MinInt64, 0), time.Date(1970, 1, 1, 0, 0, 0, 1, time.UTC))
		return out
	case quota.Bound:
		add(quota.Bound{}, quota.Of(0), quota.Of(1), quota.Of(-1), quota.Of(math.MaxInt64), quota.Of(math.MinInt64), quota.Of(1<<53-1), quota.Of(1<<53), quota.Unlimited())
		return out
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					name = f.Name
				}
				out = append(out, extremesOf(v.Field(i), strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, extremesOf(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		out = append(out, extreme{path, func(what int) bool {
			switch {
			case what == 0 && v.Len() > 0: // twice
				v.Set(reflect.Append(v, v.Index(v.Len()-1)))
			case what == 1:
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			case what == 2:
				v.Set(reflect.Zero(v.Type()))
			}
			return what < 3
		}})
	case reflect.Map:
		out = append(out, extreme{path, func(what int) bool {
			keys := []string{"", "gpu", "cpu", "nobody", "gpu", "cpu", "cpu", "cpu", "nvidia.com/gpu", "\xff"}
			amounts := []int64{1, -1, -1, math.MaxInt64, math.MaxInt64, 1<<53 - 1, 1 << 53, math.MinInt64, 0, 1}
			if what >= len(keys) {
				return false
			}
			m := reflect.MakeMap(v.Type())
			for _, k := range v.MapKeys() {
				m.SetMapIndex(k, v.MapIndex(k))
			}
			one := reflect.New(v.Type().Elem()).Elem()
			switch one.Kind() {
			case reflect.Int64:
				one.SetInt(amounts[what])
			case reflect.String:
				one.SetString("\xff")
			}
			m.SetMapIndex(reflect.ValueOf(keys[what]).Convert(v.Type().Key()), one)
			v.Set(m)
			return true
		}})
	case reflect.Int, reflect.Int64:
		add(int64(0), int64(1), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<53-1), int64(1<<53), int64(1<<31), int64(65))
	case reflect.Int32:
		add(int32(0), int32(-1), int32(math.MaxInt32), int32(math.MinInt32))
	case reflect.Uint8:
		add(uint8(0), uint8(1), uint8(2), uint8(7), uint8(255))
	case reflect.String:
		add("", "n0", "q0", "w0", "nobody", "\xff", "a\nb", strings.Repeat("x", 5000))
	case reflect.Bool:
		add(true, false)
	case reflect.Pointer:
		if !v.IsNil() {
			out = append(out, extremesOf(v.Elem(), path)...)
		}
		out = append(out, extreme{path, func(what int) bool {
			if what == 0 {
				v.Set(reflect.New(v.Type().Elem()))
			} else if what == 1 {
				v.Set(reflect.Zero(v.Type()))
			}
			return what < 2
		}})
	default:
		panic(path + ": " + v.Type().String())
	}
	return out
}

// TestExtremes sets fields of drawn states to every extreme of its type: Solve gives
// a plan that is lawful, or faults of which each says where it is, and what would be right.
func TestExtremes(t *testing.T) {
	for seed := range deep.Seeds(t, 16) {
		family := Families[[]int{0, 3, 4, 5}[seed%4]]
		count := len(extremesOf(reflect.ValueOf(family.Draw(seed)).Elem(), ""))
		for at := int(seed) % 16; at < count; at += 16 {
			for what := 0; ; what++ {
				s := family.Draw(seed)
				one := extremesOf(reflect.ValueOf(s).Elem(), "")[at]
				if !one.put(what) {
					break
				}
				if err := judgeExtreme(s); err != nil {
					t.Errorf("%s, seed %d, %s, extreme %d: %v", family.Name, seed, one.path, what, err)
				}
			}
		}
	}
}

func judgeExtreme(s *State) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	began := time.Now()
	plan, err := Solve(s)
	if took := time.Since(began); took > 2*time.Second {
		return fmt.Errorf("took %v", took)
	}
	if err == nil {
		return VerifyPlan(s, plan)
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		return fmt.Errorf("no fault with a path: %w", err)
	}
	for _, f := range invalid.Faults {
		if f.Path == "" || f.Code == 0 || !strings.HasPrefix(f.Want, "must ") {
			return fmt.Errorf("a fault without path or code, or that does not say what must be: %+v", f)
		}
	}
	return nil
}

// alikeForms draws a state in which many forms are alike, of which one in three is not what it should be.
func alikeForms(seed uint64) *State {
	r := rand.New(rand.NewPCG(seed, 29))
	family := Families[r.IntN(len(Families))]
	s := family.Draw(seed)
	for i := range s.Workloads {
		for range r.IntN(3) {
			twin := cloneWorkload(s.Workloads[i])
			if r.IntN(2) == 0 {
				twin = s.Workloads[i] // its lists are the same
			}
			twin.ID, twin.Tasks, twin.Reserved = fmt.Sprint(twin.ID, "-", len(s.Workloads)), nil, nil
			if other := &s.Workloads[r.IntN(len(s.Workloads))]; r.IntN(3) == 0 {
				twin.Queue, twin.Pool = other.Queue, other.Pool
			}
			s.Workloads = append(s.Workloads, twin)
		}
	}
	r.Shuffle(len(s.Workloads), func(i, j int) { s.Workloads[i], s.Workloads[j] = s.Workloads[j], s.Workloads[i] })
	for range min(r.IntN(4)-1, len(s.Workloads)) {
		some := &s.Workloads[r.IntN(len(s.Workloads))]
		all := extremesOf(reflect.ValueOf(&some.PodSets).Elem(), "podSets")
		all[r.IntN(len(all))].put(r.IntN(5))
	}
	return s
}

// V1: forms that are alike are checked and compiled as each for itself: a fault is named of all that
// have it, sums are of all, and each is of the definition that it would have.
func TestAlikeForms(t *testing.T) {
	sound, faulty, alike := 0, 0, 0
	for seed := range deep.Seeds(t, 400) {
		s := alikeForms(seed)
		each := checker{s: s, workloads: pointers(s.Workloads)}
		each.state()
		together := checker{s: s, workloads: pointers(s.Workloads), kinds: new(kinds)}
		together.state()
		if a, b := sortByPlace(each.faults), sortByPlace(together.faults); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: the faults are %v, of each by itself %v", seed, b, a)
		}
		if faulty++; len(each.faults) > 0 {
			continue
		}
		sound, faulty = sound+1, faulty-1
		alike += len(s.Workloads) - len(together.kinds.first)
		for _, sum := range each.requested.list {
			if got := *together.requested.of(sum.name); got != sum.total || each.tasks != together.tasks {
				t.Fatalf("seed %d: %d of %s and %d tasks, of each by itself %d and %d", seed, got, sum.name, together.tasks, sum.total, each.tasks)
			}
		}
		w, err := compileChecked(s, together.kinds)
		if err != nil {
			t.Fatal(err)
		}
		other, err := compileKinds(s, w.workloads, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Works {
			if a, b := &w.Works[i], &other.Works[i]; a.Form != b.Form || !slices.Equal(a.Others, b.Others) {
				t.Fatalf("seed %d, %s: compiled to %+v, by itself to %+v", seed, w.workloads[i].ID, a.Form, b.Form)
			}
		}
	}
	if drawn := sound + faulty; sound*8 < drawn || faulty*8 < drawn || alike < sound {
		t.Errorf("%d states are sound, %d are not, and %d forms are alike others: hardly any", sound, faulty, alike)
	}
}

// Forms that differ in anything but their queue are not alike.
func TestFormsThatAreNotAlike(t *testing.T) {
	form := func() *Form {
		return &Form{
			PodSets: []PodSet{{
				Name: "a", Count: 2, Topology: Topology{Slices: []Slice{{Size: 1, Level: "l"}}},
				Request: Request{
					GPU: GPURequest{Models: []string{"m"}}, Resources: map[string]int64{"x": 1},
					Selector:    placement.Selector{Labels: map[string]string{"k": "v"}, Expressions: []placement.Expression{{Key: "k", Values: []string{"v"}}}},
					Tolerations: []placement.Toleration{{Key: "k"}},
				},
			}},
			Groups:   []Group{{Name: "g", Topology: Topology{Slices: []Slice{{Size: 1}}}}},
			Topology: Topology{Slices: []Slice{{Size: 1}}},
		}
	}
	if !form().asksAs(form()) {
		t.Error("a form is not alike its copy")
	}
	for at, one := range extremesOf(reflect.ValueOf(form()).Elem(), "") {
		for what := 0; one.path != "queue"; what++ {
			other := form()
			if !extremesOf(reflect.ValueOf(other).Elem(), "")[at].put(what) {
				break
			}
			if !reflect.DeepEqual(form(), other) && (form().asksAs(other) || other.asksAs(form())) {
				t.Errorf("%s: %+v is alike", one.path, other)
			}
		}
	}
}

// Forms that come by turns are of as many kinds as there are, also where no digest tells them apart.
func TestFormsByTurns(t *testing.T) {
	var k kinds
	for i := range 60 {
		k.of(&Form{PodSets: []PodSet{{Count: 1, Request: Request{Selector: placement.Selector{Labels: map[string]string{"zone": fmt.Sprint(i % 6)}}}}}})
	}
	if len(k.first) != 6 {
		t.Errorf("%d kinds, not 6", len(k.first))
	}
}
