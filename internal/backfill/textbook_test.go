// Promises and backfill are held against textbooks here, written slowly and without a look at
// the solver (B3, B7).
package backfill

import (
	"cmp"
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
)

// A job is of a plain load: it comes, asks so many processors for at most so long, and runs for
// less or as long. Times are seconds.
type job struct{ comes, size, limit, runs int }

// A run is when each job has started.
type run []int

// EASY on a plain load is what its author says it is, job by job: the first that waits has the
// earliest time at which enough processors are free, by what the others say they take at most,
// and who comes later starts if it has ended by then or leaves enough (Lifka 1995; B3, B5).
func TestEASYIsEASY(t *testing.T) {
	waited, passed := 0, 0
	for seed := range deep.Seeds(t, 40) {
		d := rand.New(rand.NewPCG(seed, 1))
		jobs, processors := load(d)
		got, _ := ours(t, jobs, &cluster{processors: processors}, queue.EASY)
		expected := textbook(jobs, &cluster{processors: processors}, easily)
		if !slices.Equal(got, expected) {
			t.Fatalf("seed %d: %d processors\n%s", seed, processors, table(jobs, got, expected))
		}
		for i := range jobs {
			if expected[i] > jobs[i].comes {
				waited++
			}
			if i > 0 && expected[i] < expected[i-1] {
				passed++
			}
		}
	}
	t.Logf("%d jobs waited, %d passed others", waited, passed)
	if !testing.Short() && (waited < 40 || passed < 10) {
		t.Errorf("%d jobs waited, %d passed others", waited, passed)
	}
}

// Under conservative backfill everybody has a promise, and where nobody takes longer than its
// limit nobody starts later than it was first promised (B3, B7, B13; Mu'alem and Feitelson 2001).
func TestConservativeKeepsWhatItPromises(t *testing.T) {
	earlier := 0
	for seed := range deep.Seeds(t, 40) {
		d := rand.New(rand.NewPCG(seed, 2))
		jobs, processors := load(d)
		starts, first := ours(t, jobs, &cluster{processors: processors}, queue.Conservative)
		for i := range jobs {
			if first[i] >= 0 && starts[i] > first[i] {
				t.Fatalf("seed %d: job %d starts at %d and was promised %d\n%s", seed, i, starts[i], first[i], table(jobs, starts, first))
			}
			if starts[i] < first[i] {
				earlier++
			}
		}
	}
	if earlier < 20 {
		t.Errorf("%d jobs started earlier than they were promised", earlier)
	}
}

// load draws a plain one.
func load(d *rand.Rand) (jobs []job, processors int) {
	processors = 2 + d.IntN(7)
	at := 0
	for range 4 + d.IntN(14) {
		at += d.IntN(6)
		limit := 1 + d.IntN(20)
		jobs = append(jobs, job{comes: at, size: 1 + d.IntN(processors), limit: limit, runs: max(1, limit-d.IntN(2)*d.IntN(limit))})
	}
	return jobs, processors
}

func table(jobs []job, got, want run) (text string) {
	for i, j := range jobs {
		text += fmt.Sprintf("j%02d comes %3d size %d limit %2d runs %2d: starts %3d, by the book %3d\n", i, j.comes, j.size, j.limit, j.runs, got[i], want[i])
	}
	return text
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// ours is the load by Solve and Apply, at every arrival and end: when each starts, and what it
// was first promised, −1 for nothing.
func ours(t *testing.T, jobs []job, c *cluster, kind queue.Backfill) (starts, first run) {
	starts, first = make(run, len(jobs)), slices.Repeat(run{-1}, len(jobs))
	s := &allot.State{Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{
		NoConsolidation: true, Reclaim: preempt.NoReclaim, Reserve: allot.ReservePolicy{Backfill: kind},
	}}}}
	for i := range c.processors {
		s.Nodes = append(s.Nodes, allot.Node{ID: fmt.Sprintf("n%02d", i), Devices: make([]allot.Device, 1)})
	}
	ends := make(map[string]int)
	for now, next := 0, 0; next < len(jobs) || len(s.Workloads) > 0; now++ {
		s.Now = epoch.Add(time.Duration(now) * time.Second)
		before := len(s.Workloads)
		s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return ends[w.ID] == now && ends[w.ID] > 0 })
		event := before != len(s.Workloads)
		if may, cut := c.may(now); cut {
			s.Queues, event = c.queues(may), true
		}
		for ; next < len(jobs) && jobs[next].comes == now; next++ {
			j := jobs[next]
			w := allot.Workload{
				ID: fmt.Sprintf("j%02d", next), Queue: c.queue(), Submitted: s.Now, Preemption: c.preemption(),
				TimeLimit: quota.Of(int64(j.limit)), Duration: quota.Of(int64(j.limit)),
			}
			w.PodSets = []allot.PodSet{{Count: j.size, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
			s.Workloads, event = append(s.Workloads, w), true
		}
		if !event {
			continue
		}
		plan, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range plan.Reservations {
			var i int
			if _, err := fmt.Sscanf(r.Workload, "j%d", &i); err != nil {
				t.Fatal(err)
			}
			if first[i] < 0 {
				first[i] = int(r.Promise.At.Sub(epoch) / time.Second)
			}
		}
		for _, a := range plan.Actions {
			var i int
			if _, err := fmt.Sscanf(a.Workload, "j%d", &i); err != nil || a.Kind != allot.Start {
				t.Fatalf("%v", a)
			}
			starts[i] = now
			ends[a.Workload] = now + jobs[i].runs
		}
		if s, err = allot.Apply(s, plan); err != nil {
			t.Fatal(err)
		}
	}
	return starts, first
}

// A running job of the book, by when it ends at the latest.
type running struct{ job, until int }

// textbook runs a load second by second; place says who of those that wait, in the order in
// which they came, start now.
func textbook(jobs []job, c *cluster, place func(jobs []job, waits []int, runs []running, free, now int) []int) run {
	starts := make(run, len(jobs))
	var waits []int
	var runs []running
	free, usable, next, done := c.processors, c.processors, 0, 0
	for now := 0; done < len(jobs); now++ {
		event := false
		runs = slices.DeleteFunc(runs, func(r running) bool {
			over := starts[r.job]+jobs[r.job].runs == now
			if over {
				free += jobs[r.job].size
				done++
				event = true
			}
			return over
		})
		if may, cut := c.may(now); cut { // what runs goes on, and fewer are free than none
			free, usable, event = free+may-usable, may, true
		}
		for ; next < len(jobs) && jobs[next].comes == now; next++ {
			waits, event = append(waits, next), true
		}
		if !event {
			continue
		}
		for _, i := range place(jobs, waits, runs, free, now) {
			starts[i] = now
			free -= jobs[i].size
			runs = append(runs, running{i, now + jobs[i].limit})
			waits = slices.DeleteFunc(waits, func(w int) bool { return w == i })
		}
	}
	return starts
}

// easily is EASY.
func easily(jobs []job, waits []int, runs []running, free, now int) (start []int) {
	runs = slices.Clone(runs)
	begin := func(i int) {
		start = append(start, i)
		free -= jobs[i].size
		runs = append(runs, running{i, now + jobs[i].limit})
	}
	rest := waits
	for len(rest) > 0 && jobs[rest[0]].size <= free {
		begin(rest[0])
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return start
	}
	slices.SortFunc(runs, func(a, b running) int { return cmp.Compare(a.until, b.until) })
	shadow, then := now, free
	for _, r := range runs {
		if then >= jobs[rest[0]].size && r.until > shadow {
			break
		}
		then += jobs[r.job].size
		shadow = r.until
	}
	extra := then - jobs[rest[0]].size
	for _, i := range rest[1:] {
		j := jobs[i]
		switch {
		case j.size > free:
		case now+j.limit <= shadow:
			begin(i)
		case j.size <= extra:
			extra -= j.size
			begin(i)
		}
	}
	return start
}
