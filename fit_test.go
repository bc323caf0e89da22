package allot

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/queue"
)

// restful is the state with nothing but what is asked about in turn: what waits
// is gone, and what holds places has no more tasks to start.
func restful(s *State) *State {
	out := cloneState(s)
	out.Workloads = slices.DeleteFunc(out.Workloads, func(k Workload) bool { return len(k.Tasks) == 0 })
	for i := range out.Workloads {
		k := &out.Workloads[i]
		k.Ending = !slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Phase != Terminating })
		sets := k.PodSets
		if k.Form > 0 {
			sets = k.Alternatives[k.Form-1].PodSets
		}
		for at := range sets {
			highest := -1
			for _, t := range k.Tasks {
				if t.PodSet == sets[at].Name && t.Phase != Terminating {
					highest = max(highest, t.Index)
				}
			}
			sets[at].Missing = sets[at].Count - 1 - highest
		}
	}
	return out
}

// aloneDecides decides a state in which only k waits, and says how it starts.
func aloneDecides(t *rapid.T, s *State, id string) (start *Action, harmed bool) {
	plan, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.Pools, func(p Pool) bool { return p.Policy.Queueing != queue.BestEffort }) &&
		slices.ContainsFunc(plan.Pending, func(p Pending) bool { return p.Workload != id }) {
		t.Skip("who waits for places of its own may block others")
	}
	grown := false
	lost := make(map[string]bool)
	for i := range plan.Actions {
		a := &plan.Actions[i]
		switch a.Kind {
		case Displace, Unclaim:
			if a.Reason.Workload != "" { // a claim that is taken
				harmed = true
				continue
			}
			if slices.ContainsFunc(plan.Pending, func(p Pending) bool { return p.Workload == a.Workload && p.Reasons[0].Code != NotSubmitted }) {
				t.Skip("who lost a place has turns as well")
			}
			lost[a.Workload] = true
			if slices.ContainsFunc(s.Pools, func(p Pool) bool { return p.Policy.Queueing != queue.BestEffort }) {
				t.Skip("who lost a place may block others")
			}
		case Start, Resize:
			switch {
			case a.Workload == id && start == nil:
				start = a
			case a.Workload == id:
				grown = true
			case a.Workload != id && (a.Kind == Resize || lost[a.Workload] || !claimed(s, a.Workload)):
				t.Skip("somebody else starts")
			}
		case Evict, Shrink, Move:
			if a.Reason.Code == StaleGang {
				t.Skip("a stale gang ends")
			}
			harmed = true
		}
	}
	if grown && harmed {
		t.Skip("it may be what is above the minimum that did harm")
	}
	return start, harmed
}

func claimed(s *State, id string) bool {
	i := slices.IndexFunc(s.Workloads, func(k Workload) bool { return k.ID == id })
	return slices.ContainsFunc(s.Workloads[i].Tasks, func(t Task) bool { return t.Phase == Claimed })
}

// TestFitIsWhatIsDecided: what a Fitter says is what Solve does of the workload
// where nobody else has a turn, and who else waits is nothing to it.
func TestFitIsWhatIsDecided(t *testing.T) {
	var asked, free, room int
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		var waiting []Workload
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
		snapshot, err := NewSnapshot(quiet)
		if err != nil {
			t.Fatal(err)
		}
		f := snapshot.Fitter()
		now, err := f.Now(k)
		if err != nil {
			t.Fatal(err)
		}
		with, err := f.WithRoom(k)
		if err != nil {
			t.Fatal(err)
		}
		alone := cloneState(quiet)
		alone.Workloads = append(alone.Workloads, k)
		start, harmed := aloneDecides(t, alone, k.ID)
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
		asked++
		if now.OK {
			free++
		} else if with.OK {
			room++
		}
	})
	t.Logf("%d asked: %d start in what is free, %d with room", asked, free, room)
}

func scores(s *State) bool {
	for _, p := range s.Pools {
		if p.Policy.GPUStrategy.Scores() || p.Policy.CPUStrategy.Scores() {
			return true
		}
	}
	return slices.ContainsFunc(s.Workloads, func(k Workload) bool { return k.Strategy.Scores() })
}

func dump(t *rapid.T, s *State) {
	text, _ := s.MarshalJSON()
	t.Log(string(text))
}
