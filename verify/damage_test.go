package verify_test

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// TestDamagedPlans: of plans of Solve that have every kind of action, reason, promise and share, each with one of
// its fields damaged, or several at random, none makes verify or the text of the plan panic, and what verify lets
// pass a host can carry out (V1).
func TestDamagedPlans(t *testing.T) {
	seen, kinds, tried := make(map[string]bool), make(map[string]bool), 0
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range solvedStates(t) {
		p, err := allot.Solve(s)
		if err != nil || verify.Plan(s, p) != nil {
			t.Fatal(err, verify.Plan(s, p))
		}
		parts := slices.DeleteFunc(partsOf(s, p), func(one planPart) bool { return seen[one.like] })
		for _, part := range parts {
			if seen[part.like] {
				continue
			}
			seen[part.like], kinds[part.kind] = true, true
			for _, one := range damages(reflect.ValueOf(part.noun).Elem(), part.like) {
				tried++
				survives(t, s, p, one)
			}
		}
		if len(parts) == 0 {
			continue
		}
		all := damages(reflect.ValueOf(p).Elem(), "plan")
		for range 50 {
			tried++
			survives(t, s, p, all[random.IntN(len(all))], all[random.IntN(len(all))], all[random.IntN(len(all))])
		}
	}
	t.Logf("%d damages of %d parts", tried, len(seen))
	for kind := allot.Start; kind <= allot.Move; kind++ {
		if !kinds[kind.String()] {
			t.Errorf("no %v was damaged", kind)
		}
	}
	for change := allot.PromiseKept; change <= allot.PromiseWithdrawn; change++ {
		if !kinds["promise "+change.String()] {
			t.Errorf("no promise was damaged that is %v", change)
		}
	}
	for code := allot.ImpossibleNode; code <= allot.SearchCut; code++ {
		if !kinds["wait for "+code.String()] {
			t.Errorf("no %v was damaged", code)
		}
	}
}

// solvedStates are those that the solves of all scenarios see.
func solvedStates(t *testing.T) (states []*allot.State) {
	err := filepath.WalkDir(filepath.Join("..", "testdata"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "solve") {
				continue
			}
			s, err := scenario.State(strings.Join(lines[:i], ""))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if allot.Check(s) == nil {
				states = append(states, s)
			}
		}
		return nil
	})
	if err != nil || len(states) == 0 {
		t.Fatalf("%d states, error %v", len(states), err)
	}
	return states
}

// A planPart is a pointer to a part of a plan, what it is one of, and what it is like by all that it has and tells.
type planPart struct {
	noun       any
	kind, like string
}

// partsOf are the parts of a plan.
func partsOf(s *allot.State, p *allot.Plan) (parts []planPart) {
	add := func(noun any, kind, format string, args ...any) {
		parts = append(parts, planPart{noun, kind, kind + fmt.Sprintf(format, args...)})
	}
	forms := make(map[string]int, len(s.Workloads))
	for i := range s.Workloads {
		forms[s.Workloads[i].ID] = min(2, 1+len(s.Workloads[i].Alternatives))
	}
	for i := range p.Actions {
		a := &p.Actions[i]
		add(a, a.Kind.String(), " of %d tasks of %d forms, after some: %t, cut: %t, behind some: %t, for %v, chain of %d", min(2, len(a.Tasks)),
			forms[a.Workload], len(a.After) > 0, !a.Until.IsZero(), a.Behind != "", a.Reason.Code, min(2, len(a.Reason.Chain)))
	}
	for i := range p.Pending {
		for k := range p.Pending[i].Reasons {
			r := &p.Pending[i].Reasons[k]
			add(&p.Pending[i], "wait for "+r.Code.String(), " of %d forms", forms[p.Pending[i].Workload])
		}
	}
	for i := range p.Reservations {
		r := &p.Reservations[i]
		add(r, "promise "+r.Change.String(), " of %d forms by %v, cause %v, let go: %t", forms[r.Workload], r.Promise.Rule, r.Cause.Code, !r.NotBefore.IsZero())
	}
	for i := range p.Shares {
		row := &p.Shares[i]
		add(row, "share", " of a class: %t, divided: %t, with history: %t", row.Class != "", row.Divided, row.WeightMilli > 0)
	}
	return parts
}

// A damage is a value that is wrong where it stands.
type damage struct {
	path         string
	at, was, bad reflect.Value
}

// damages are those of a value and of all that is below it.
func damages(v reflect.Value, path string) (list []damage) {
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	for _, bad := range damagesOf(v) {
		list = append(list, damage{path, v, was, bad})
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				list = append(list, damages(v.Field(i), path+"."+v.Type().Field(i).Name)...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, damages(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			list = append(list, damages(v.Elem(), path)...)
		}
	}
	return list
}

// damagesOf are values that stand in no plan where this one does.
func damagesOf(v reflect.Value) (list []reflect.Value) {
	add := func(values ...any) {
		for _, one := range values {
			list = append(list, reflect.ValueOf(one).Convert(v.Type()))
		}
	}
	switch is := v.Interface().(type) {
	case time.Time:
		add(time.Time{}, time.Unix(-1, 0), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64/2, 0),
			time.Unix(math.MinInt64, 0), is.Add(1), is.Add(time.Second), is.Add(-time.Second))
		return list
	case quota.Bound:
		add(quota.Bound{}, quota.Unlimited(), quota.Of(-1), quota.Of(math.MaxInt64), quota.Of(math.MinInt64))
		return list
	}
	switch v.Kind() {
	case reflect.String:
		add("", "no such", "\xff")
	case reflect.Bool:
		add(!v.Bool())
	case reflect.Int, reflect.Int64:
		add(-1, -2, 0, v.Int()-1, v.Int()+1, 99, int64(math.MaxInt64), int64(math.MinInt64))
	case reflect.Uint8:
		add(0, uint8(v.Uint())-1, uint8(v.Uint())+1, 6, 100, 255)
	case reflect.Slice:
		list = append(list, reflect.Zero(v.Type()), reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())))
		if n := v.Len(); n > 0 {
			list = append(list, reflect.Append(v.Slice3(0, n, n), v.Index(n-1)), v.Slice(0, n-1), v.Slice(1, n))
		}
	case reflect.Pointer:
		list = append(list, reflect.Zero(v.Type()), reflect.New(v.Type().Elem()))
	case reflect.Map:
		bad := reflect.MakeMap(v.Type())
		bad.SetMapIndex(reflect.ValueOf("no such"), reflect.ValueOf(int64(-1)))
		list = append(list, reflect.Zero(v.Type()), bad)
	case reflect.Struct:
		list = append(list, reflect.Zero(v.Type()))
	}
	return list
}

// survives tests what becomes of a plan of a state with some damages, and mends it again.
func survives(t *testing.T, s *allot.State, p *allot.Plan, list ...damage) {
	t.Helper()
	what := ""
	for _, one := range list {
		one.at.Set(one.bad)
		what += fmt.Sprintf("%s = %v\n", one.path, one.bad)
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%sof\n%spanics: %v", what, scenario.Format(s), r)
		}
		for _, one := range slices.Backward(list) {
			one.at.Set(one.was)
		}
	}()
	unlawful := verify.Plan(s, p)
	_ = p.String()
	for i := range p.Reservations {
		_ = p.Reservations[i].Cause.String()
	}
	_, applied := allot.Apply(s, p)
	_, begun := allot.Begin(s, p)
	if unlawful == nil && (applied != nil || begun != nil) {
		t.Errorf("%sof\n%sis let pass, and refused: %v, %v", what, scenario.Format(s), applied, begun)
	}
}
