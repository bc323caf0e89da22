package backfill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/verify"
)

// A life of EASY with evictable backfill, on nodes of one device: hard jobs of several tasks with limits, which are
// never evicted, and loose ones of one task, of most of which nobody knows how long they take.
type looseLife struct {
	state   *allot.State
	ends    map[string]time.Time // when what runs ends, whatever is known of it
	behind  int                  // how many started behind somebody
	evicted int
}

// named is a workload of a state.
func named(s *allot.State, id string) *allot.Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
}

// freeAt is how many nodes are free at a time for a workload: who stands there has ended by its limit, or is behind
// that one (B5, B6).
func freeAt(s *allot.State, at time.Time, holder string) int {
	n := len(s.Nodes)
	for _, w := range s.Workloads {
		for _, t := range w.Tasks {
			over := w.TimeLimit.Given() && !t.Since.Add(time.Duration(w.TimeLimit.Amount())*time.Second).After(at)
			if !over && (holder == "" || t.Behind != holder) {
				n--
			}
		}
	}
	return n
}

// earliest is when so many nodes are free for a workload (B2); zero is never.
func earliest(s *allot.State, holder string, size int) time.Time {
	times := []time.Time{s.Now}
	for _, w := range s.Workloads {
		for _, t := range w.Tasks {
			if end := t.Since.Add(time.Duration(w.TimeLimit.Amount()) * time.Second); w.TimeLimit.Given() && end.After(s.Now) {
				times = append(times, end)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range times {
		if freeAt(s, at, holder) >= size {
			return at
		}
	}
	return time.Time{}
}

// waiting are those that wait, in the order in which they came.
func waiting(s *allot.State) (list []allot.Workload) {
	for _, w := range s.Workloads {
		if len(w.Tasks) == 0 {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b allot.Workload) int { return a.Submitted.Compare(b.Submitted) })
	return list
}

// decide solves, looks whether who goes may, and carries the plan out.
func (l *looseLife) decide() error {
	before := l.state
	plan, err := allot.Solve(before)
	if err != nil {
		return err
	}
	if err := verify.Plan(before, plan); err != nil {
		return fmt.Errorf("%v\n%v", err, plan)
	}
	gone, others := make(map[string]int), 0
	for _, a := range plan.Actions {
		switch {
		case a.Kind == allot.Start:
			w := named(before, a.Workload)
			l.ends[a.Workload] = before.Now.Add(time.Duration(1+len(a.Workload)*7%11) * time.Second)
			if w.TimeLimit.Given() {
				l.ends[a.Workload] = before.Now.Add(time.Duration(max(1, w.TimeLimit.Amount()-int64(len(l.ends)%3))) * time.Second)
			}
			if a.Behind != "" {
				l.behind++
			}
			if len(a.After) == 0 { // maybe within its lines, as who goes for it is not (B4)
				others += len(a.Tasks)
			}
		case a.Kind == allot.Evict && a.Reason.Code == allot.Behind:
			l.evicted++
			gone[a.Reason.Workload]++
			if w := named(before, a.Workload); w.Tasks[0].Behind != a.Reason.Workload {
				return fmt.Errorf("%s goes for %s, behind which it does not stand\n%v", a.Workload, a.Reason.Workload, plan)
			}
		case a.Kind == allot.Move && a.Reason.Code == allot.Behind: // who goes may find another place (M4)
		default:
			return fmt.Errorf("%v", plan)
		}
	}
	for by, n := range gone { // each by itself: order cannot matter
		if w := named(before, by); n > w.PodSets[0].Count-max(0, freeAt(before, before.Now, "")-others) {
			return fmt.Errorf("%d go for %s, of %d, where %d are free\n%v", n, by, w.PodSets[0].Count, freeAt(before, before.Now, ""), plan)
		}
	}
	if l.state, err = allot.Apply(before, plan); err == nil {
		if err = l.complete(); err != nil {
			err = fmt.Errorf("%w\n%v", err, plan)
		}
	}
	return err
}

// complete says what could start, or could be promised something, and is not (B3–B6).
func (l *looseLife) complete() error {
	s := l.state
	free := freeAt(s, s.Now, "")
	var head *allot.Workload
	for _, w := range waiting(s) {
		if w.Reserved != nil {
			head = &w
		}
	}
	if head != nil {
		at := earliest(s, head.ID, head.PodSets[0].Count)
		if !at.Equal(head.Reserved.At) || !at.After(s.Now) {
			return fmt.Errorf("%s is promised %v, and there are enough at %v", head.ID, head.Reserved.At, at)
		}
	}
	for _, w := range s.Workloads {
		for _, t := range w.Tasks {
			if t.Behind != "" && (head == nil || t.Behind != head.ID || !slices.ContainsFunc(head.Reserved.Tasks, func(p allot.Placement) bool { return p.Node == t.Node })) {
				return fmt.Errorf("%s is behind %s, which is promised other places", w.ID, t.Behind)
			}
		}
	}
	for _, w := range waiting(s) {
		size := w.PodSets[0].Count
		switch {
		case head == nil && !earliest(s, "", size).IsZero():
			return fmt.Errorf("%s could be promised something, and nobody is", w.ID)
		case head != nil && w.ID == head.ID || size > free:
		case head == nil || !w.Submitted.After(head.Submitted):
			return fmt.Errorf("%s stands before whoever is promised something, and could start", w.ID)
		case w.Preemption == allot.Preemptible:
			return fmt.Errorf("%s could start behind %s", w.ID, head.ID)
		case w.TimeLimit.Given() && !s.Now.Add(time.Duration(w.TimeLimit.Amount())*time.Second).After(head.Reserved.At):
			return fmt.Errorf("%s would have ended before %s starts", w.ID, head.ID)
		case size <= freeAt(s, head.Reserved.At, head.ID)-head.PodSets[0].Count:
			return fmt.Errorf("%s would leave enough for %s", w.ID, head.ID)
		}
	}
	return nil
}

// Evictable backfill, event by event, by the letter of B3 to B6: what could start does, who has the promise has it at the
// earliest time at which enough is free or stands behind it, and as many go for it as it lacks.
func TestEvictableBackfill(t *testing.T) {
	behind, evicted := 0, 0
	for seed := range deep.Seeds(t, 60) {
		d := rand.New(rand.NewPCG(seed, 5))
		l := &looseLife{ends: make(map[string]time.Time), state: &allot.State{
			Now: epoch, Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(100_000)}}}},
			Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{
				NoConsolidation: true, Reclaim: preempt.NoReclaim, Reserve: allot.ReservePolicy{Backfill: queue.EASY, Evictable: true},
			}}},
		}}
		for i := range 2 + d.IntN(6) {
			l.state.Nodes = append(l.state.Nodes, allot.Node{ID: fmt.Sprintf("n%02d", i), Devices: make([]allot.Device, 1)})
		}
		for i := range 6 + d.IntN(10) {
			s := l.state
			s.Now = s.Now.Add(time.Duration(d.IntN(5)) * time.Second)
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return len(w.Tasks) > 0 && !l.ends[w.ID].After(s.Now) })
			w := allot.Workload{ID: fmt.Sprintf("hard%02d", i), Queue: "q", Submitted: epoch.Add(time.Duration(i-100) * time.Second), Preemption: allot.NonPreemptible}
			w.PodSets = []allot.PodSet{{Count: 1 + d.IntN(len(s.Nodes)), Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
			w.TimeLimit = quota.Of(int64(1 + d.IntN(20)))
			if d.IntN(2) == 0 {
				w.ID, w.Preemption, w.PodSets[0].Count = fmt.Sprintf("loose%02d", i), allot.Preemptible, 1
				if d.IntN(4) > 0 {
					w.TimeLimit = quota.Bound{}
				}
			}
			w.Duration = w.TimeLimit
			s.Workloads = append(s.Workloads, w)
			if err := l.decide(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		behind, evicted = behind+l.behind, evicted+l.evicted
	}
	t.Logf("%d started behind somebody, %d went", behind, evicted)
}
