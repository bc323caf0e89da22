package explain

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// B10: ten jobs by hand (CASES N84). Of four nodes of one GPU n1 and n2 are held until 10 h, n3 until
// 4 h and n4 by what has no known end. In order w0 asks 1 GPU for 2 h, w1 three for 5 h and so
// on; w8 wants n4, and w9 four GPUs.
func TestForecastsByHand(t *testing.T) {
	told := forecastOf(t, `
policy no-consolidation
nodes n1..n4 gpu=1
run a tasks=2 gpu=1 for=10h at=0h since=0h on n1 n2
run b gpu=1 for=4h at=0h since=0h on n3
run x gpu=1 at=0h since=0h on n4
submit w0 gpu=1 for=2h at=1s
submit w1 tasks=3 gpu=1 for=5h at=2s
submit w2 gpu=1 for=4h at=3s
submit w3 gpu=1 for=5h at=4s
submit w4 gpu=1 for=1h at=5s
submit w5 tasks=2 gpu=1 for=1h at=6s
submit w6 gpu=1 for=unlimited at=7s
submit w7 gpu=1 for=1h at=8s
submit w8 tasks=4 gpu=1 for=1h at=9s
submit w9 tasks=3 gpu=1 for=1h at=10s
now 1h
`)
	want := strings.TrimSpace(`
w0: 4h on n3[0] after b
w1: 10h on n1[0] n2[0] n3[0] after a, w2
w2: 6h on n3[0] after w0
w3: 15h on n1[0] after w1
w4: 15h on n2[0] after w1
w5: 16h on n2[0] n3[0] after w4, w7
w6: 17h on n2[0] after w5
w7: 15h on n3[0] after w1
w8: never, as far as is known on n1[0] n2[0] n3[0] n4[0] after w6, w9
w9: never, as far as is known on n1[0] n3[0] n4[0] after w3, w5, x`)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(told, "\n")); diff != "" {
		t.Error(diff)
	}
}

// B10, M9: what one plan starts has cost nothing yet, and makes way for what begins with it. Where nobody passes another a
// would stand on n2 beside x at 2h, and b would have to wait for it; then a stands on n1, and b begins with it. d finds
// too little free.
func TestForecastsBeginTogether(t *testing.T) {
	told := forecastOf(t, `
policy queueing=strict-pool no-consolidation
nodes n1 gpu=1
nodes n2 gpu=3
run l gpu=1 for=2h at=0h since=0h on n1
run x gpu=1 for=9h at=0h since=0h on n2[2]
run y gpu=2 for=2h at=0h since=0h on n2[0-1]
submit a gpu=1 for=4h at=1s
submit b gpu=2 for=4h at=2s
submit d gpu=2 for=1h at=3s
now 1h
`)
	want := strings.TrimSpace(`
a: 2h on n1[0] after l
b: 2h on n2[0-1] after y
d: 6h on n2[0-1] after b`)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(told, "\n")); diff != "" {
		t.Error(diff)
	}
}

// B10, B5: what may last longer than is expected does not begin where it may keep another out of its queue when that is
// promised its places: at 3h b would find its own free, and would not start either.
func TestForecastsLastInTheirQueues(t *testing.T) {
	told := forecastOf(t, `
policy reserve.backfill=easy no-consolidation
nodes m gpu=2
nodes n1..n3 gpu=1
queue q quota=3
queue r quota=2
run q/x non-preemptible gpu=1 for=5h limit=5h at=0h since=0h on n1
run r/z non-preemptible gpu=2 for=3h limit=3h at=0h since=0h on m
submit q/a non-preemptible tasks=3 gpu=1 for=1h limit=1h at=1s
submit q/b non-preemptible gpu=2 for=1h limit=3h at=2s
now 0h
`)
	want := strings.TrimSpace(`
q/a: 5h on n1[0] n2[0] n3[0] after x, promised
q/b: 6h on m[0-1] after a, z`)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(told, "\n")); diff != "" {
		t.Error(diff)
	}
}

// inHours are the instants of the first day that are told to the hour.
var inHours = regexp.MustCompile(`2000-01-01T0?(\d+):00:00Z`)

// B10: what is claimed starts when it is free, what the policy promises says so, and beyond
// the bound nobody is looked at; less than one is an error.
func TestForecastsTell(t *testing.T) {
	d := decide(t, must(scenario.State(`
policy reserve.backfill=easy no-consolidation
nodes n1..n2 gpu=1
submit gone gpu=1 at=0h ending
terminate gone since=0h on n1[0]
submit held gpu=1 for=1h at=0h
claim held since=0h on n1[0]
run a gpu=1 for=2h at=0h since=0h on n2
submit b gpu=1 for=1h at=2s
submit c gpu=1 for=1h at=3s
submit e gpu=1 for=1h at=4s
now 1h
`)))
	got := map[string]Forecast{}
	for _, f := range must(Forecasts(t.Context(), d, 2)) {
		got[f.Workload] = f
	}
	if f := got["held"]; !f.Held || len(f.Tasks) != 1 || f.Start.IsZero() || !slices.Equal(f.WaitsFor, []string{"gone"}) {
		t.Errorf("what claims its place: %+v", f)
	}
	if f := got["b"]; !f.Promised || f.Start.IsZero() {
		t.Errorf("what is promised: %+v", f)
	}
	if f := got["c"]; f.Promised || f.Unlooked || f.Start.IsZero() {
		t.Errorf("what is expected: %+v", f)
	}
	if f := got["e"]; !f.Unlooked || !f.Start.IsZero() || f.String() != "e: not looked at" {
		t.Errorf("what is beyond the bound: %v", f)
	}
	for _, none := range []int{0, -1} {
		if _, err := Forecasts(t.Context(), d, none); !errors.Is(err, ErrForecast) {
			t.Errorf("of %d: %v", none, err)
		}
	}
}

// B10: what it waits for is who has the quota, wherever that one stands, nobody who need not end, and of
// what is gathered who stands there; no time is known for it then.
func TestForecastsWaitFor(t *testing.T) {
	for _, one := range []struct{ state, want string }{
		{`
nodes n1..n3 gpu=1
queue q quota=1
queue other
run q/a gpu=1 for=4h limit=4h at=0h since=0h non-preemptible on n2
run other/b gpu=0.5 at=0h since=0h on n1
run other/c gpu=1 at=0h since=0h on n3
submit q/w gpu=0.25 at=1h non-preemptible
submit q/x gpu=0.25 for=1h at=2h non-preemptible
submit q/y gpu=1 for=1h at=3h non-preemptible
now 3h
`, `q/w: 2000-01-01T04:00:00Z on n1[0] after a
q/x: 2000-01-01T04:00:00Z on n1[0] after a
q/y: never, as far as is known on n1[0] after b, w, x`},
		{`
policy reserve.backfill=easy reserve.gather no-consolidation
nodes n1..n3 gpu=1
run a gpu=1 at=0h since=0h on n1
run b gpu=1 at=0h since=1h on n2
submit g tasks=2 gpu=1 at=0h
now 2h
`, `g: never, as far as is known on n2[0] n3[0] after b, promised`},
		// A cap of the queue is held by a, the quota above q by b; of what the nodes do not have, or a limit does not
		// let in, no end makes a start. A duration that is said to be none is none, whoever says it.
		{`
policy no-consolidation
nodes n1..n4 gpu=1
queue d quota=2
queue d/p parent=d quota=2 max-workloads=1 durations.default=unlimited
queue d/q parent=d quota=2 limit=2
run d/p/a gpu=1 for=unlimited at=0h since=0h non-preemptible on n1
run d/q/b gpu=1 at=0h since=1h non-preemptible on n2
submit d/p/capped gpu=1 for=1h at=1h
submit d/q/beyond gpu=1 for=1h at=2h non-preemptible
submit d/q/limited tasks=3 gpu=1 for=1h at=3h
submit d/q/large gpu=2 for=1h at=4h
now 3h
`, `d/q/beyond: never, as far as is known on n3[0] after a
d/p/capped: never, as far as is known on n1[0] after a
d/q/large: never, as far as is known
d/q/limited: never, as far as is known`},
	} {
		var told []string
		for _, f := range must(Forecasts(t.Context(), decide(t, must(scenario.State(one.state))), 10)) {
			told = append(told, f.String())
		}
		if got := strings.Join(told, "\n"); got != one.want {
			t.Errorf("%s\nnot\n%s", got, one.want)
		}
	}
}

// B10: everybody who waits has a forecast, in the plan's order, none is before now, and none is now but where
// somebody is leaving; what the plan promises is what is told, and the decision is what it was.
func TestForecastsOfScenarios(t *testing.T) {
	later, awaited := 0, 0
	for _, s := range scenarioStates() {
		d := decide(t, s)
		before := must(d.Plan())
		forecasts, err := Forecasts(t.Context(), d, 10)
		if err != nil {
			t.Fatalf("%v\n%s", err, scenario.Format(s))
		}
		if diff := cmp.Diff(before.String(), must(d.Plan()).String()); diff != "" {
			t.Fatal(diff)
		}
		if len(forecasts) != len(before.Pending) {
			t.Fatalf("%d forecasts of %d that wait", len(forecasts), len(before.Pending))
		}
		for at, f := range forecasts {
			if f.Workload != before.Pending[at].Workload || !f.Start.IsZero() && f.Start.Before(s.Now) || f.String() == "" {
				t.Errorf("%+v in place %d\n%s", f, at, scenario.Format(s))
			}
			if f.Start.After(s.Now) {
				later++
			}
			checkPlayedOn(t, s, before, &f)
			if never(f) && len(f.WaitsFor) > 0 {
				awaited++
			}
			known := func(id string) bool {
				return slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })
			}
			if slices.ContainsFunc(f.WaitsFor, func(id string) bool { return !known(id) }) {
				t.Errorf("%q waits for %q\n%s", f.Workload, f.WaitsFor, scenario.Format(s))
			}
		}
	}
	if later < 3 || awaited < 3 {
		t.Errorf("only %d are expected later, and of %d that never start it is told for whom they wait", later, awaited)
	}
}

// checkPlayedOn checks that a forecast is of the plan: who is promised something starts then and there, and nobody
// at once whom the plan has refused.
func checkPlayedOn(t *testing.T, s *allot.State, p *allot.Plan, f *Forecast) {
	t.Helper()
	at := slices.IndexFunc(p.Reservations, func(r allot.PlannedReservation) bool {
		return r.Workload == f.Workload && r.Change != allot.PromiseWithdrawn
	})
	switch leaves := slices.ContainsFunc(s.Workloads, func(k allot.Workload) bool {
		return slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating })
	}) || slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return a.Kind != allot.Start && a.Kind != allot.Resize }); {
	case f.Held:
	case at >= 0:
		if r := &p.Reservations[at].Promise; !r.At.Equal(f.Start) || !cmp.Equal(r.Tasks, f.Tasks) || !f.Promised {
			t.Errorf("%v, and it is promised %v at %v\n%s", f, r.Tasks, r.At, scenario.Format(s))
		}
	case f.Start.Equal(s.Now) && !leaves:
		t.Errorf("%v, which the plan has refused\n%s\n%v", f, scenario.Format(s), p)
	}
}

// B1, M1, O4: what queues say for those below them is read from the uppermost down, once per queue: in a
// tree of 10,000 levels who looked up from each, and for each queue through all of them, would
// take minutes. The durations are those of the nearest queue that says them, and the least maximum holds.
func TestForecastsBelowManyQueues(t *testing.T) {
	const levels, jobs = 10_000, 100
	name := func(i int) string { return fmt.Sprintf("q%05d", i) }
	s := &allot.State{Now: time.Unix(0, 0).UTC(), Nodes: []allot.Node{{ID: "n", Devices: make([]allot.Device, 1)}}}
	for i := range levels {
		s.Queues = append(s.Queues, allot.Queue{ID: name(i)})
		if i > 0 {
			s.Queues[i].Parent = name(i - 1)
		}
	}
	s.Queues[0].Durations = allot.Durations{Default: quota.Of(1), Max: quota.Of(500)}
	s.Queues[levels/2].Durations = allot.Durations{Default: quota.Of(800), Max: quota.Of(600)}
	for i := range jobs {
		w := allot.Workload{ID: fmt.Sprintf("w%02d", i), Queue: name(levels - 1), PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}
		s.Workloads = append(s.Workloads, w)
	}
	told, err := Forecasts(t.Context(), decide(t, s), jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range told { // the first of all has started
		if want := s.Now.Add(time.Duration(i+1) * 500 * time.Second); !told[i].Start.Equal(want) {
			t.Fatalf("%s starts at %v, want %v", told[i].Workload, told[i].Start, want)
		}
	}
}
