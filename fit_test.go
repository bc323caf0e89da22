package allot_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// restful is the state with nothing but what is asked about in turn: what waits
// is gone, and what holds places has no more tasks to start.
func restful(s *allot.State) *allot.State {
	out := allot.CloneState(s)
	out.Workloads = slices.DeleteFunc(out.Workloads, func(k allot.Workload) bool { return len(k.Tasks) == 0 })
	for i := range out.Workloads {
		k := &out.Workloads[i]
		k.Ending = !slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
		sets := k.PodSets
		if k.Form > 0 {
			sets = k.Alternatives[k.Form-1].PodSets
		}
		for at := range sets {
			highest := -1
			for _, t := range k.Tasks {
				if t.PodSet == sets[at].Name && t.Phase != allot.Terminating {
					highest = max(highest, t.Index)
				}
			}
			sets[at].Missing = sets[at].Count - 1 - highest
		}
	}
	return out
}

// someBlocks says whether some pool or queue does not let all pass (O4).
func someBlocks(s *allot.State) bool {
	return slices.ContainsFunc(s.Pools, func(p allot.Pool) bool { return p.Policy.Queueing != queue.BestEffort }) ||
		slices.ContainsFunc(s.Queues, func(q allot.Queue) bool { return q.Queueing > queue.OwnBestEffort })
}

// aloneDecides decides a state in which only k waits, and says how it starts, or
// else why not.
func aloneDecides(t *rapid.T, s *allot.State, id string) (start *allot.Action, harmed bool, why []allot.Reason) {
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(plan.Pending, func(p allot.Pending) bool { return p.Workload == id }); i >= 0 {
		why = plan.Pending[i].Reasons
	}
	if someBlocks(s) &&
		slices.ContainsFunc(plan.Pending, func(p allot.Pending) bool { return p.Workload != id }) {
		t.Skip("who waits for places of its own may block others")
	}
	grown := false
	lost := make(map[string]bool)
	for i := range plan.Actions {
		a := &plan.Actions[i]
		switch a.Kind {
		case allot.Displace, allot.Unclaim:
			if a.Reason.Workload != "" { // a claim that is taken
				harmed = true
				continue
			}
			if slices.ContainsFunc(plan.Pending, func(p allot.Pending) bool { return p.Workload == a.Workload && p.Reasons[0].Code != allot.NotSubmitted }) {
				t.Skip("who lost a place has turns as well")
			}
			lost[a.Workload] = true
			if someBlocks(s) {
				t.Skip("who lost a place may block others")
			}
		case allot.Start, allot.Resize:
			switch {
			case a.Workload == id && start == nil:
				start = a
			case a.Workload == id:
				grown = true
			case a.Workload != id && (a.Kind == allot.Resize || lost[a.Workload] || !claimed(s, a.Workload)):
				t.Skip("somebody else starts")
			}
		case allot.Evict, allot.Shrink, allot.Move:
			if a.Reason.Code == allot.StaleGang {
				t.Skip("a stale gang ends")
			}
			harmed = true
		}
	}
	if grown && harmed {
		t.Skip("it may be what is above the minimum that did harm")
	}
	return start, harmed, why
}

func claimed(s *allot.State, id string) bool {
	i := slices.IndexFunc(s.Workloads, func(k allot.Workload) bool { return k.ID == id })
	return slices.ContainsFunc(s.Workloads[i].Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
}

// TestFitIsWhatIsDecided: what a explain.Fitter says is what Solve does of the workload
// where nobody else has a turn, and who else waits is nothing to it.
func TestFitIsWhatIsDecided(t *testing.T) {
	var asked, free, room int
	rapid.Check(t, func(t *rapid.T) {
		s := allot.GenState(t)
		var waiting []allot.Workload
		for _, k := range s.Workloads {
			if len(k.Tasks) == 0 && !k.Ending {
				waiting = append(waiting, k)
			}
		}
		if len(waiting) == 0 {
			t.Skip("nobody waits")
		}
		k := rapid.SampledFrom(waiting).Draw(t, "asked")
		quiet := restful(s)
		snapshot, err := allot.NewSnapshot(quiet)
		if err != nil {
			t.Fatal(err)
		}
		f := explain.NewFitter(snapshot)
		now, err := f.Now(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		with, err := f.WithRoom(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		alone := allot.CloneState(quiet)
		alone.Workloads = append(alone.Workloads, k)
		start, harmed, why := aloneDecides(t, alone, k.ID)
		behind := start != nil && len(start.After) > 0
		if want := start != nil && !harmed && !behind; now.OK != want {
			dump(t, alone)
			t.Fatalf("Now says %v, decided is %+v, harmed %t", now, start, harmed)
		}
		if want := start != nil; with.OK != want || want && with.Room != (harmed || behind) || want && with.Form != start.Form {
			dump(t, alone)
			t.Fatalf("WithRoom says %v, decided is %+v, harmed %t", with, start, harmed)
		}
		if now.OK && !scores(s) {
			if d := cmp.Diff(start.Tasks, now.Tasks); d != "" {
				t.Fatal(d)
			}
		}
		there, err := allot.NewSnapshot(alone)
		if err != nil {
			t.Fatal(err)
		}
		itself, err := explain.NewFitter(there).WithRoom(t.Context(), k)
		if d := cmp.Diff(with, itself); d != "" || err != nil {
			t.Fatal("asked about in the place of itself:", d, err)
		}
		if start == nil {
			told, err := f.Why(t.Context(), k)
			if d := cmp.Diff(why, told); d != "" || err != nil {
				dump(t, alone)
				t.Fatal(d, err)
			}
		}
		asked++
		if now.OK {
			free++
		} else if with.OK {
			room++
		}
	})
	t.Logf("%d asked: %d start in what is free, %d with room", asked, free, room)
}

func scores(s *allot.State) bool {
	for _, p := range s.Pools {
		if p.Policy.GPUStrategy.Scores() || p.Policy.CPUStrategy.Scores() {
			return true
		}
	}
	return slices.ContainsFunc(s.Workloads, func(k allot.Workload) bool { return k.Strategy.Scores() })
}

func dump(t *rapid.T, s *allot.State) {
	text, _ := s.MarshalJSON()
	t.Log(string(text))
}

// TestFitMindsNobodyWaiting: who else waits is nothing to whether a workload fits
// now, and neither is what was asked before; and the snapshot stays as it is.
func TestFitMindsNobodyWaiting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := allot.GenState(t)
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		before, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		calm := allot.CloneState(s)
		calm.Workloads = slices.DeleteFunc(calm.Workloads, func(k allot.Workload) bool { return len(k.Tasks) == 0 })
		quiet, err := allot.NewSnapshot(calm)
		if err != nil {
			t.Fatal(err)
		}
		all := explain.NewFitter(snapshot)
		for _, i := range rapid.Permutation(s.Workloads).Draw(t, "order") {
			if len(i.Tasks) > 0 || i.Ending {
				continue
			}
			fresh := explain.NewFitter(snapshot)
			for _, ask := range [...]func(f *explain.Fitter) (any, error){
				func(f *explain.Fitter) (any, error) { return f.Now(t.Context(), i) },
				func(f *explain.Fitter) (any, error) { return f.WithRoom(t.Context(), i) },
				func(f *explain.Fitter) (any, error) { return f.Ever(t.Context(), i) },
				func(f *explain.Fitter) (any, error) { return f.Copies(t.Context(), i, 3) },
				func(f *explain.Fitter) (any, error) { return f.Why(t.Context(), i) },
			} {
				a, err := ask(all)
				if err != nil {
					t.Fatal(err)
				}
				b, err := ask(fresh)
				if x, ok := a.(explain.Fit); ok && scores(s) { // lots fall otherwise where other resources are known
					y := b.(explain.Fit)
					x.Tasks, y.Tasks = nil, nil
					a, b = x, y
				}
				if d := cmp.Diff(b, a); d != "" || err != nil {
					t.Fatal(d, err)
				}
			}
			if len(i.Alternatives)+len(i.Groups) > 0 || i.PodSets[0].Step != 0 || scores(s) {
				continue // which of several ways is taken, the lines decide, and so who asks
			}
			a, err := all.Now(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			b, err := explain.NewFitter(quiet).Now(t.Context(), i)
			if d := cmp.Diff(a, b); d != "" || err != nil {
				t.Fatal(d, err)
			}
		}
		plan, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		after, err := plan.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before.String(), after.String()); d != "" {
			t.Fatal(d)
		}
	})
}

// TestEverIsTheEmptyCluster: what would ever start is what starts alone when all
// has ended and everything is mended.
func TestEverIsTheEmptyCluster(t *testing.T) {
	var asked, ever int
	rapid.Check(t, func(t *rapid.T) {
		s := allot.GenState(t)
		waiting := slices.DeleteFunc(slices.Clone(s.Workloads), func(k allot.Workload) bool { return len(k.Tasks) > 0 || k.Ending })
		if len(waiting) == 0 {
			t.Skip("nobody waits")
		}
		k := rapid.SampledFrom(waiting).Draw(t, "asked")
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		fit, err := explain.NewFitter(snapshot).Ever(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		empty := allot.CloneState(s)
		empty.Workloads = []allot.Workload{k}
		for i := range empty.Nodes {
			empty.Nodes[i].Cordoned = false
			for d := range empty.Nodes[i].Devices {
				empty.Nodes[i].Devices[d].Unhealthy = false
			}
		}
		start, _, _ := aloneDecides(t, empty, k.ID)
		if fit.OK != (start != nil) {
			dump(t, empty)
			t.Fatalf("Ever says %v, decided is %v", fit, start)
		}
		asked++
		if fit.OK {
			ever++
		}
	})
	t.Logf("%d asked, %d would ever start", asked, ever)
}

// TestCopiesAreWhatStarts: so many copies start where nobody else has a turn and
// no room is made.
func TestCopiesAreWhatStarts(t *testing.T) {
	const most = 5
	counts := make([]int, most+1)
	drawn, said := 0, 0 // of most that are drawn nothing can be said
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		s := allot.GenStillState(t)
		waiting := slices.DeleteFunc(slices.Clone(s.Workloads), func(k allot.Workload) bool { return len(k.Tasks) > 0 || k.Ending })
		if len(waiting) == 0 {
			return // nobody waits
		}
		k := rapid.SampledFrom(waiting).Draw(t, "asked")
		quiet := restful(s)
		for i := range quiet.Pools { // each is placed where the ones before it leave room
			quiet.Pools[i].Policy.MaxReplacedStarts = quota.Of(0)
		}
		snapshot, err := allot.NewSnapshot(quiet)
		if err != nil {
			t.Fatal(err)
		}
		n, err := explain.NewFitter(snapshot).Copies(t.Context(), k, most)
		if err != nil {
			t.Fatal(err)
		}
		started := 0
		for i := range most {
			k.ID = "copy" + prose.Decimal(i)
			quiet.Workloads = append(quiet.Workloads, k)
		}
		plan, err := allot.Solve(quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range plan.Actions {
			switch {
			case strings.HasPrefix(a.Workload, "copy") && a.Kind == allot.Start && len(a.After) == 0:
				started++ // who claims starts in what is not free yet
			case a.Kind == allot.Resize || a.Kind == allot.Evict || a.Kind == allot.Unclaim || a.Kind == allot.Displace:
				return // somebody grows, or has lost places and turns again
			case !strings.HasPrefix(a.Workload, "copy") && a.Kind == allot.Start && !claimed(quiet, a.Workload):
				return // somebody else starts
			}
		}
		blocks := someBlocks(s)
		if blocks || len(k.Alternatives)+len(k.Groups) > 0 {
			return // others may stand in the way, or the lines decide
		}
		if n != started {
			dump(t, quiet)
			t.Fatalf("%d copies, %d start", n, started)
		}
		counts[n]++
		said++
	})
	t.Logf("so many copies started so often: %d", counts)
	if said < drawn/20 {
		t.Errorf("of %d that were drawn something was said of %d", drawn, said)
	}
}

// Ends: what is told would do, and nothing of it can be left out; Nodes are those that
// an empty cluster would use.
func TestEndsAndNodes(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := allot.NewSnapshot(allot.GenState(t))
		if err != nil {
			t.Fatal(err)
		}
		var holders []string
		for k := range s.Workloads() {
			if slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating }) {
				holders = append(holders, k.ID)
			}
		}
		fitter := explain.NewFitter(s)
		for k := range s.Workloads() {
			if len(k.Tasks) > 0 || k.Ending {
				continue
			}
			now, err := fitter.Now(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			ends, err := fitter.Ends(t.Context(), k, holders)
			if err != nil {
				t.Fatal(err)
			}
			nodes, err := fitter.Nodes(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range now.Tasks {
				if len(task.Devices) > 0 && !slices.Contains(nodes, task.Node) {
					t.Fatalf("%s starts on %s, which is not among %v", k.ID, task.Node, nodes)
				}
			}
			if !slices.IsSortedFunc(nodes, strings.Compare) {
				t.Fatalf("not in order: %v", nodes)
			}
			if now.OK != (ends != nil && len(ends) == 0) && len(k.Alternatives) == 0 {
				t.Fatalf("%s starts now: %t, and has to wait for %v", k.ID, now.OK, ends)
			}
			for i := range ends {
				found++
				rest := slices.Delete(slices.Clone(ends), i, i+1)
				if less, err := fitter.Ends(t.Context(), k, rest); err != nil || less != nil {
					t.Fatalf("%s: of %v, %v do (%v)", k.ID, ends, less, err)
				}
			}
		}
	})
	if found == 0 {
		t.Error("nobody had to end")
	}
}
