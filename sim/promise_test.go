package sim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// A booking of a load on one kind of processors: it comes, asks so many, says that it takes
// so long, and takes so long. Times are seconds.
type booking struct{ comes, size, says, takes int }

// bookings draws a load. Where over is true some take longer than they say.
func bookings(d *rand.Rand, over bool) (list []booking, processors int) {
	processors = 2 + d.IntN(7)
	at := 0
	for range 6 + d.IntN(20) {
		at += d.IntN(6)
		b := booking{comes: at, size: 1 + d.IntN(processors), says: 1 + d.IntN(20)}
		b.takes = max(1, b.says-d.IntN(2)*d.IntN(b.says))
		if over && d.IntN(4) == 0 {
			b.takes = b.says + 1 + d.IntN(90)
		}
		list = append(list, b)
	}
	return list, processors
}

// asInput makes it an input of a cluster where only counts matter.
func asInput(list []booking, processors int) *sim.Input {
	in := &sim.Input{Cluster: allot.State{Nodes: []allot.Node{{ID: "all", Capacity: map[string]int64{sim.Slots: int64(processors) * 1000}}}}}
	for i, b := range list {
		in.Jobs = append(in.Jobs, sim.Job{
			Submit: time.Duration(b.comes) * time.Second, Duration: time.Duration(b.takes) * time.Second, Estimate: time.Duration(b.says) * time.Second,
			Workload: allot.Workload{ID: fmt.Sprintf("j%02d", i), Preemption: allot.Preemptible, PodSets: []allot.PodSet{
				{Count: 1, Request: allot.Request{Resources: map[string]int64{sim.Slots: int64(b.size) * 1000}}},
			}},
		})
	}
	return in
}

// byTheBook is the load as a textbook has it, second by second: reserve says for how many of
// those that wait a time is kept free, from the first in line on. At each second at which
// somebody has come or gone the profile is made anew from what runs; kept are the times
// that were promised before, which only get earlier.
func byTheBook(list []booking, processors, reserve int) []int {
	starts, ends := slices.Repeat([]int{-1}, len(list)), make([]int, len(list))
	const far = 20000
	promised := make(map[int]int)
	next := 0
	for now := 0; slices.Contains(starts, -1); now++ {
		event := false
		for i := range list {
			event = event || list[i].comes == now || starts[i] >= 0 && ends[i] == now
		}
		for next < len(list) && list[next].comes <= now {
			next++
		}
		if !event {
			continue
		}
		busy := make([]int, far)
		book := func(from, to, size int) {
			for t := from; t < to && t < far; t++ {
				busy[t] += size
			}
		}
		fits := func(at, long, size int) bool {
			for t := at; t < at+long && t < far; t++ {
				if busy[t]+size > processors {
					return false
				}
			}
			return true
		}
		for i := range next {
			if starts[i] >= 0 && ends[i] > now {
				book(now, starts[i]+list[i].says, list[i].size)
			}
		}
		var line []int
		for i := range next {
			if starts[i] < 0 {
				line = append(line, i)
			}
		}
		start := func(i int) {
			starts[i], ends[i] = now, now+list[i].takes
			delete(promised, i)
		}
		earliest := func(i int) int {
			at := now
			for !fits(at, list[i].says, list[i].size) {
				at++
			}
			book(at, at+list[i].says, list[i].size)
			return at
		}
		// Everybody promised holds his time, then each is tried earlier, the earliest first, until
		// nobody moves; then who has come, in order.
		var kept, others []int
		for _, i := range line {
			if at, is := promised[i]; is {
				book(at, at+list[i].says, list[i].size)
				kept = append(kept, i)
			} else {
				others = append(others, i)
			}
		}
		for moved := true; moved; {
			moved = false
			slices.SortFunc(kept, func(a, b int) int { return cmp.Or(promised[a]-promised[b], a-b) })
			for _, i := range kept {
				book(promised[i], promised[i]+list[i].says, -list[i].size)
				at := earliest(i)
				moved = moved || at != promised[i]
				promised[i] = at
			}
		}
		for _, i := range kept {
			if promised[i] == now {
				start(i)
			}
		}
		for _, i := range others {
			b := list[i]
			switch {
			case fits(now, b.says, b.size):
				earliest(i)
				start(i)
			case len(promised) < reserve:
				promised[i] = earliest(i)
			}
		}
	}
	return starts
}

// TestBackfillByTheBook: EASY and conservative backfill of the simulator are job by job what
// a textbook has, where nobody takes longer than estimated, and no promise is late (B3, B5, B13).
func TestBackfillByTheBook(t *testing.T) {
	for _, c := range []struct {
		scheduler sim.Scheduler
		reserve   int
	}{{sim.EASY(), 1}, {sim.Conservative(), 100}} {
		passed := 0
		for seed := range uint64(60) {
			list, processors := bookings(rand.New(rand.NewPCG(seed, 7)), false)
			in := asInput(list, processors)
			r := mustRun(t, in, sim.Options{Scheduler: c.scheduler, Check: true})
			want := byTheBook(list, processors, c.reserve)
			for i := range list {
				if got := int(r.Jobs[i].FirstStart / time.Second); got != want[i] || r.Jobs[i].Evictions > 0 {
					t.Fatalf("%s, seed %d: job %d of %d processors starts at %d, by the book at %d: %+v\nwant %v", c.scheduler.Name, seed, i, processors, got, want[i], list, want)
				}
				if i > 0 && want[i] < want[i-1] {
					passed++
				}
			}
			for _, p := range r.Promises {
				if p.Late() > 0 || p.Became == sim.PromiseWithdrawn {
					t.Errorf("%s, seed %d: a promise was not kept: %+v", c.scheduler.Name, seed, p)
				}
			}
		}
		if passed < 20 {
			t.Errorf("%s: %d passed others", c.scheduler.Name, passed)
		}
	}
}

// TestPromisesOfFineInstants: promises are told in microseconds, and one whose job starts in the same is kept: jobs that
// come at fractions of these, as at another load than a trace's own, make none late (B13).
func TestPromisesOfFineInstants(t *testing.T) {
	for _, scheduler := range []sim.Scheduler{sim.EASY(), sim.Conservative()} {
		made := 0
		for seed := range uint64(20) {
			list, processors := bookings(rand.New(rand.NewPCG(seed, 11)), false)
			in, err := trace.Scale(asInput(list, processors), 700)
			if err != nil {
				t.Fatal(err)
			}
			r := mustRun(t, in, sim.Options{Scheduler: scheduler, Check: true})
			for _, p := range r.Promises {
				if p.Late() > 0 {
					t.Errorf("%s, seed %d: late by %v: %+v", scheduler.Name, seed, p.Late(), p)
				}
			}
			made += len(r.Promises)
		}
		if made < 20 {
			t.Errorf("%s: %d promises", scheduler.Name, made)
		}
	}
}

// TestBackfillAsPublished: small loads on 100 processors of which a simulator of batch schedulers states when
// each job ends under EASY and under conservative backfill, job by job (B3, B5). They are the figures of
// scheduler/Input_test_files of PySS (github.com/dinesh121991/pyss), which follows Mu'alem and Feitelson 2001; a job is
// comes, size, says and takes.
func TestBackfillAsPublished(t *testing.T) {
	for _, load := range []struct {
		name               string
		jobs               [][4]int // comes, size, says, takes
		easy, conservative []int    // ends; nil is none that is stated
	}{
		{"bf 0", [][4]int{{0, 50, 100, 100}, {1, 100, 200, 100}, {2, 60, 100, 100}, {20, 10, 10, 10}}, []int{100, 200, 300, 30}, []int{100, 200, 300, 30}},
		{"bf 1", [][4]int{{0, 50, 600, 600}, {1, 100, 200, 200}, {2, 60, 100, 100}, {10, 10, 100, 100}}, []int{600, 800, 900, 110}, []int{600, 800, 900, 110}},
		{"bf 2", [][4]int{{0, 50, 800, 600}, {1, 60, 200, 200}, {2, 60, 400, 100}, {10, 10, 700, 600}}, []int{600, 800, 900, 610}, []int{600, 800, 900, 610}},
		{
			"bf 3: jobs are backfilled side by side",
			[][4]int{{0, 15, 100, 100}, {0, 15, 100, 100}, {0, 15, 100, 100}, {0, 15, 100, 100}, {0, 15, 100, 100}, {0, 15, 100, 100},
				{5, 60, 100, 100}, {6, 1, 11, 10}, {6, 1, 12, 10}, {6, 99, 1000, 100}, {7, 100, 1, 1}, {8, 1, 20, 2}, {8, 1, 21, 2}},
			[]int{100, 100, 100, 100, 100, 100, 200, 16, 16, 300, 301, 10, 10}, []int{100, 100, 100, 100, 100, 100, 200, 16, 16, 300, 301, 10, 10},
		},
		{
			"bf 4: many are backfilled, and not the last",
			[][4]int{{0, 50, 100, 100}, {1, 95, 1000, 100}, {2, 95, 1000, 100}, {5, 1, 11, 10}, {6, 1, 12, 11}, {6, 1, 12, 12}, {6, 2, 12, 10},
				{6, 95, 1000, 100}, {7, 100, 100, 100}, {8, 1, 20, 2}, {8, 1, 21, 2}, {10, 6, 1200, 1000}},
			[]int{100, 200, 300, 15, 17, 18, 16, 400, 500, 10, 10, 1500}, []int{100, 200, 300, 15, 17, 18, 16, 400, 500, 10, 10, 1500},
		},
		{"bf 5: too long for the hole", [][4]int{{0, 50, 600, 600}, {10, 100, 400, 200}, {20, 10, 1000, 1000}}, []int{600, 800, 1800}, []int{600, 800, 1800}},
		{"bf 6: too wide for it", [][4]int{{0, 50, 700, 600}, {10, 100, 400, 200}, {20, 60, 10, 10}}, []int{600, 800, 810}, []int{600, 800, 810}},
		{"bf 7", [][4]int{{100, 50, 600, 100}, {101, 60, 600, 10}, {104, 50, 100, 100}}, []int{200, 214, 204}, []int{200, 214, 204}},
		{"bf 8: in the order of arrival", [][4]int{{100, 60, 600, 100}, {101, 60, 600, 10}, {102, 60, 700, 10}, {103, 60, 600, 10}, {104, 60, 900, 10}},
			[]int{200, 210, 220, 230, 240}, []int{200, 210, 220, 230, 240}},
		{"easy 0", [][4]int{{0, 70, 100, 100}, {1, 80, 100, 100}, {2, 90, 100, 100}, {50, 20, 250, 250}}, []int{100, 200, 400, 300}, nil},
		{"cons 0", [][4]int{{0, 70, 100, 100}, {1, 80, 100, 100}, {2, 90, 100, 100}, {50, 20, 250, 250}}, nil, []int{100, 200, 300, 550}},
		{"cons 1", [][4]int{{0, 50, 800, 600}, {1, 100, 400, 200}, {2, 10, 200, 100}, {99, 10, 10, 10}, {100, 40, 31, 30}}, nil, []int{600, 800, 102, 109, 132}},
		{"basic 20: all end at once", [][4]int{{0, 10, 2000, 1000}, {0, 10, 2000, 1000}, {10, 10, 3000, 990}, {10, 10, 3000, 990}, {20, 10, 1980, 980}, {20, 10, 1980, 980}, {30, 100, 2, 1}},
			[]int{1000, 1000, 1000, 1000, 1000, 1000, 1001}, []int{1000, 1000, 1000, 1000, 1000, 1000, 1001}},
		{"basic 24", [][4]int{{0, 100, 100, 100}, {1, 50, 50000, 100}, {2, 50, 30000, 100}, {3, 50, 200, 200}, {4, 50, 100, 100}, {5, 50, 100, 100}},
			[]int{100, 200, 200, 400, 300, 400}, []int{100, 200, 200, 400, 300, 400}},
	} {
		var list []booking
		for _, j := range load.jobs {
			list = append(list, booking{comes: j[0], size: j[1], says: j[2], takes: j[3]})
		}
		for _, by := range []struct {
			scheduler sim.Scheduler
			ends      []int
		}{{sim.EASY(), load.easy}, {sim.Conservative(), load.conservative}} {
			if by.ends == nil {
				continue
			}
			r := mustRun(t, asInput(list, 100), sim.Options{Scheduler: by.scheduler, Check: true})
			for i, want := range by.ends {
				if got := int(r.Jobs[i].FirstStart/time.Second) + list[i].takes; got != want {
					t.Errorf("%s, %s: job %d ends at %d, published is %d", load.name, by.scheduler.Name, i, got, want)
				}
			}
		}
	}
}

// TestPromisesByHand: one node of 4 GPUs. a holds 3 up to 100 s, b asks 4 and is promised
// 100 s, c asks 1 for 80 s and passes, d asks 1 for 200 s and waits behind b.
func TestPromisesByHand(t *testing.T) {
	load := func(says, takes time.Duration) *sim.Input {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{
			single("a", 3, 0, takes*second), single("b", 4, 10*second, 50*second),
			single("c", 1, 20*second, 80*second), single("d", 1, 20*second, 200*second),
		}
		in.Jobs[0].Estimate = says * second
		return in
	}
	for _, o := range []struct {
		name        string
		says, takes time.Duration
		starts      [4]time.Duration
		first, late time.Duration
		held        string // GPU-seconds
	}{
		// c runs from 20 to 100 s. From 10 to 20 s the last GPU is b's: 10 GPU-seconds.
		{"the truth", 100, 100, [4]time.Duration{0, 100, 20, 150}, 100, 0, "10"},
		// a is thought to take twice as long: b is promised 200 s, d would end at 220 s and
		// waits; a has ended by 100 s, b starts then.
		{"twice", 200, 100, [4]time.Duration{0, 100, 20, 150}, 200, 0, "10"},
		// a takes 30 s longer than it says: c would end in time. From 100 s on a is thought to
		// end at 160 s, b is promised that; d does not end by then. At 130 s b starts.
		{"too short", 100, 130, [4]time.Duration{0, 130, 20, 180}, 100, 30, "40"},
	} {
		in := load(o.says, o.takes)
		r := mustRun(t, in, sim.Options{Scheduler: sim.EASY(), Check: true})
		for i, want := range o.starts {
			if got := r.Jobs[i].FirstStart; got != want*second {
				t.Errorf("%s: %s starts at %v and not at %v s", o.name, r.Jobs[i].Workload.ID, got, int64(want))
			}
		}
		i := slices.IndexFunc(r.Promises, func(p sim.PromiseResult) bool { return p.Job == "b" })
		if i < 0 {
			t.Fatalf("%s: nothing was promised to b: %+v", o.name, r.Promises)
		}
		if p := r.Promises[i]; p.Made != 10*second || p.First != o.first*second || p.Late() != o.late*second || p.Became != sim.PromiseStarted || p.GPUs != 4000 {
			t.Errorf("%s: %+v, late by %v", o.name, p, p.Late())
		}
		if got := gpuSeconds(r.Reserved); got != o.held {
			t.Errorf("%s: %s GPU-seconds were held", o.name, got)
		}
	}
}

// TestEstimatesChangeNoTruth: whatever is estimated, who is done has worked for his true
// time, the same seed is the same run, and where nobody takes longer than estimated every
// promise is kept, with all costs (B5, B7).
func TestEstimatesChangeNoTruth(t *testing.T) {
	base, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 3, Nodes: 2, Jobs: 200, Percent: 160, Tenants: 3})
	if err != nil {
		t.Fatal(err)
	}
	costs := sim.Costs{Start: 40 * second, Loses: true, Checkpoint: 30 * time.Minute, Save: 20 * second, Restore: time.Minute}
	for _, kind := range trace.EstimateKinds() {
		in, err := trace.Estimated(base, kind, 5)
		if err != nil {
			t.Fatal(err)
		}
		again, err := trace.Estimated(base, kind, 5)
		if err != nil || in.Hash() != again.Hash() {
			t.Errorf("%s: the same seed is another input, or %v", kind, err)
		}
		for i := range in.Jobs {
			if j := &in.Jobs[i]; j.Duration != base.Jobs[i].Duration || cmp.Or(j.Estimate, j.Duration) < j.Duration {
				t.Fatalf("%s: %v is estimated as %v, and was %v", kind, j.Duration, j.Estimate, base.Jobs[i].Duration)
			}
		}
		for _, s := range []sim.Scheduler{sim.EASY(), sim.Conservative()} {
			r := mustRun(t, in, sim.Options{Scheduler: s, Costs: costs, VerifyEvery: 10, ReasonsEvery: 10})
			if r2 := mustRun(t, again, sim.Options{Scheduler: s, Costs: costs, NoVerify: true, NoReasons: true}); r2.Trail != r.Trail {
				t.Errorf("%s, %s: the same seed is another run", kind, s.Name)
			}
			waited := 0
			for i := range r.Jobs {
				if r.Jobs[i].Outcome != sim.Done {
					t.Errorf("%s, %s: %s is %v", kind, s.Name, r.Jobs[i].Workload.ID, r.Jobs[i].Outcome)
				}
			}
			for _, p := range r.Promises {
				if waited++; p.Late() > 0 || p.Became != sim.PromiseStarted {
					t.Errorf("%s, %s: a promise was not kept: %+v", kind, s.Name, p)
				}
			}
			if waited < 5 {
				t.Errorf("%s, %s: %d were promised anything", kind, s.Name, waited)
			}
		}
	}
}

// TestOverrunIsDecidedUpon: nothing happens at 100 s but that a has not ended by then, as it
// was thought to. From then on it is thought to end at 160 s, so that c, which would have been
// too long, passes b: it ends by 150 s.
func TestOverrunIsDecidedUpon(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 3, 0, 130*second), single("b", 4, 10*second, 50*second), single("c", 1, 60*second, 25*second)}
	in.Jobs[0].Estimate, in.Jobs[2].Estimate = 100*second, 50*second
	for _, o := range []sim.Options{{Check: true}, {NoVerify: true, NoReasons: true}} {
		o.Scheduler = sim.EASY()
		r := mustRun(t, in, o)
		if b, c := r.Jobs[1].FirstStart, r.Jobs[2].FirstStart; b != 130*second || c != 100*second {
			t.Errorf("b starts at %v, c at %v", b, c)
		}
	}
}
