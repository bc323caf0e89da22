package backfill

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A cluster has so many processors, of which the jobs may use fewer, another number from time to time: by the
// limit of their queue, by its quota, or by what another queue lends.
type cluster struct {
	processors int
	by         string
	cuts       []cut // ascending
}

// A cut is how many may be used from some second on.
type cut struct{ at, may int }

// may is how many may be used from a second on, if that is other than before.
func (c *cluster) may(now int) (int, bool) {
	at := slices.IndexFunc(c.cuts, func(one cut) bool { return one.at == now })
	if at < 0 {
		return 0, false
	}
	return c.cuts[at].may, true
}

func (c *cluster) queue() string {
	if c.by == "" {
		return ""
	}
	return "q"
}

// preemption is what a job is: only what is not preemptible is kept within a quota (Q2), and only what is may
// use what another queue lends.
func (c *cluster) preemption() allot.Preemption {
	if c.by == byLending {
		return allot.Preemptible
	}
	return allot.NonPreemptible
}

const (
	byLimit   = "limit"
	byQuota   = "quota"
	byLending = "lending"
)

// queues are those that let the jobs use so many (Q2, Q3, Q5).
func (c *cluster) queues(may int) []allot.Queue {
	r := allot.QueueResource{Resource: allot.GPU, Quota: quota.Of(int64(1000 * c.processors))}
	switch c.by {
	case byLimit:
		r.Limit = quota.Of(int64(1000 * may))
	case byQuota:
		r.Quota = quota.Of(int64(1000 * may))
	case byLending:
		all := quota.Of(int64(1000 * c.processors))
		r.Quota = quota.Of(0)
		return []allot.Queue{
			{ID: "lender", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: all, LendingLimit: quota.Of(int64(1000 * may))}}},
			{ID: "q", Resources: []allot.QueueResource{r}},
		}
	}
	return []allot.Queue{{ID: "q", Resources: []allot.QueueResource{r}}}
}

// A queue that may use less, or more, from one time to another has a promise be later, or earlier: EASY is what it
// is with as many processors fewer, job by job, though it has promised something before (B4, B7, N89).
func TestEASYBesideCuts(t *testing.T) {
	late := 0
	for seed := range deep.Seeds(t, 60) {
		d := rand.New(rand.NewPCG(seed, 3))
		jobs, processors := load(d)
		c := &cluster{processors: processors, by: []string{byLimit, byQuota, byLending}[d.IntN(3)]}
		last, most := jobs[len(jobs)-1].comes, 0
		for _, j := range jobs {
			most = max(most, j.size)
		}
		c.processors += d.IntN(6)
		for at := 0; at <= last+20; at += 1 + d.IntN(12) {
			c.cuts = append(c.cuts, cut{at, most + d.IntN(c.processors-most+1)})
		}
		got, _ := ours(t, jobs, c, queue.EASY)
		expected := textbook(jobs, c, easily)
		if !slices.Equal(got, expected) {
			t.Fatalf("seed %d: %d processors, by %s %v\n%s", seed, c.processors, c.by, c.cuts, table(jobs, got, expected))
		}
		for i := range jobs {
			if expected[i] > jobs[i].comes {
				late++
			}
		}
	}
	if !testing.Short() && late < 100 {
		t.Errorf("%d jobs waited", late)
	}
}

// keeping is EASY where some may not start at all for now: nothing is promised to whom no end of others would
// help, and what has been promised goes to one who came before once that one could be promised something, but for what
// may be used by now; who came before starts when it can, and the promise is later then (B3, B4, B7).
func keeping() func(jobs []job, waits []int, runs []running, free, now int) []int {
	promised := -1
	return func(jobs []job, waits []int, runs []running, free, now int) (start []int) {
		runs, waits = slices.Clone(runs), slices.Clone(waits)
		for turn := 0; turn < len(waits); {
			if _, _, some := shadowOf(jobs, promised, waits, runs, free, now); !some {
				promised = -1
			}
			i := waits[turn]
			j := jobs[i]
			at, extra, some := shadowOf(jobs, promised, waits, runs, free, now)
			if j.size <= free && (!some || i <= promised || now+j.limit <= at || j.size <= extra) {
				start, free, runs = append(start, i), free-j.size, append(runs, running{i, now + j.limit})
				waits, turn = slices.Delete(waits, turn, turn+1), 0 // and all is looked at again
				continue
			}
			if _, _, would := shadowOf(jobs, i, waits, runs, free, now); would && (!some || i < promised && at > now) {
				promised = i
			}
			turn++
		}
		return start
	}
}

// shadowOf is when at the earliest enough is free for a job that waits, and how much more then; it is false where it
// never is, or does not wait.
func shadowOf(jobs []job, i int, waits []int, runs []running, free, now int) (at, extra int, some bool) {
	if !slices.Contains(waits, i) {
		return 0, 0, false
	}
	runs = slices.SortedFunc(slices.Values(runs), func(a, b running) int { return cmp.Compare(a.until, b.until) })
	at = now
	for len(runs) > 0 && (free < jobs[i].size || runs[0].until <= at) {
		at, free, runs = max(at, runs[0].until), free+jobs[runs[0].job].size, runs[1:]
	}
	return at, free - jobs[i].size, free >= jobs[i].size
}

// The same where the jobs may use less than one of them asks, or nothing, for some time.
func TestEASYBesideCutsBelow(t *testing.T) {
	for seed := range deep.Seeds(t, 60) {
		d := rand.New(rand.NewPCG(seed, 4))
		jobs, processors := load(d)
		c := &cluster{processors: processors, by: []string{byLimit, byQuota, byLending}[d.IntN(3)]}
		last := jobs[len(jobs)-1].comes
		for at := 0; at <= last+20; at += 1 + d.IntN(12) {
			c.cuts = append(c.cuts, cut{at, d.IntN(processors + 1)})
		}
		c.cuts = append(c.cuts, cut{last + 40, processors}) // in the end everybody can start
		got, _ := ours(t, jobs, c, queue.EASY)
		expected := textbook(jobs, c, keeping())
		if !slices.Equal(got, expected) {
			t.Fatalf("seed %d: %d processors, by %s %v\n%s", seed, processors, c.by, c.cuts, table(jobs, got, expected))
		}
	}
}
