package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/allotsched/allot/sim"
)

// A Spread is a [sim.Spread] in seconds.
type Spread struct {
	N      int         `json:"n"`
	Mean   sim.Decimal `json:"mean"`
	Median sim.Decimal `json:"median"`
	P90    sim.Decimal `json:"p90"`
	P99    sim.Decimal `json:"p99"`
	Max    sim.Decimal `json:"max"`
}

// MarshalJSON has the figures where there are any, and of none only that n is 0.
func (s Spread) MarshalJSON() ([]byte, error) {
	if s.N == 0 {
		return []byte(`{"n":0}`), nil
	}
	type figures Spread
	return json.Marshal(figures(s))
}

// MarshalJSON is as that of Spread.
func (r Ratios) MarshalJSON() ([]byte, error) { return Spread(r).MarshalJSON() }

func spread(times []time.Duration) Spread {
	s := sim.SpreadOf(times)
	return Spread{s.N, s.Mean, sim.Seconds(s.Median), sim.Seconds(s.P90), sim.Seconds(s.P99), sim.Seconds(s.Max)}
}

// A Group is the metrics of some of the jobs.
type Group struct {
	// Name is the group's: a size, a queue or a priority.
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Unfinished is how many of them have not ended.
	Unfinished int `json:"unfinished"`
	// CompletionTime is over the jobs that are done or failed by their own cause.
	// QueueingDelay, to the first start, and Pending, the whole wait, are over all, of
	// the unfinished up to the end of the run.
	CompletionTime Spread `json:"completionTime"`
	QueueingDelay  Spread `json:"queueingDelay"`
	Pending        Spread `json:"pending"`
}

// A Usage is how much of the GPUs was in use over some time, as a part of what could
// be used.
type Usage struct {
	// Allocated is what jobs held, Used what working ones held.
	Allocated sim.Decimal `json:"allocated"`
	Used      sim.Decimal `json:"used"`
}

// A Waste is GPU-hours by what they went into.
type Waste struct {
	Useful sim.Decimal `json:"useful"`
	Lost   sim.Decimal `json:"lost"`
	// Vain is of jobs that ended in any way but done, Unsaved of unfinished ones since
	// their last checkpoint.
	Vain     sim.Decimal `json:"vain"`
	Unsaved  sim.Decimal `json:"unsaved"`
	Overhead sim.Decimal `json:"overhead"`
	// Waiting is of gangs that held some of their tasks' places, Leaving of tasks
	// that were told to go.
	Waiting sim.Decimal `json:"waiting"`
	Leaving sim.Decimal `json:"leaving"`
}

// Promises says how many were made in the whole run, and what became of them.
type Promises struct {
	Made int `json:"made"`
	// Kept is how many jobs started when they were first promised, or earlier; Late how many
	// did so later, or wait beyond that time; Open how many wait and are not late. Withdrawn
	// promises were taken back, or their jobs ended before they started.
	Kept      int `json:"kept"`
	Late      int `json:"late"`
	Open      int `json:"open"`
	Withdrawn int `json:"withdrawn"`
	// LateBy is of those that are late, in seconds.
	LateBy Spread `json:"lateBy"`
	// Held are the GPU-hours for which places that were promised were idle.
	Held sim.Decimal `json:"heldGPUHours"`
}

// promises measures those of a run, nil where there are none.
func promises(r *sim.Result) *Promises {
	if len(r.Promises) == 0 {
		return nil
	}
	p := &Promises{Made: len(r.Promises), Held: r.Reserved.GPUHours()}
	var late []time.Duration
	for i := range r.Promises {
		one := &r.Promises[i]
		switch by := one.Late(); {
		case by > 0:
			late = append(late, by)
		case one.Became == sim.PromiseStarted:
			p.Kept++
		case one.Became == sim.PromiseOpen:
			p.Open++
		default:
			p.Withdrawn++
		}
	}
	p.Late, p.LateBy = len(late), spread(late)
	return p
}

// A QueueSummary is the metrics of a queue.
type QueueSummary struct {
	Queue string `json:"queue"`
	Ended int    `json:"ended"`
	// QuotaLatency is how long somebody waited in it with whom it would have been
	// within its quota; nil (absent in JSON) is that it has none.
	QuotaLatency *Spread `json:"quotaLatency,omitempty"`
	// UseOfShare is what it held over its fair share, over the rows of the series in
	// which it had one; nil (absent in JSON) is that there are none.
	UseOfShare *sim.Decimal `json:"useOfShare,omitempty"`
}

// A Summary is the metrics of a run.
type Summary struct {
	Scheduler string `json:"scheduler"`
	Seed      uint64 `json:"seed"`
	Input     string `json:"input"`
	Trail     string `json:"trail"`
	Partial   bool   `json:"partial"`
	// LeftOut counts by kind what of the input was not run, and is empty where all was.
	LeftOut []Count     `json:"leftOut"`
	End     sim.Decimal `json:"end"`
	// Makespan is the end of the last job; zero (absent in JSON) is that some have not ended.
	Makespan sim.Decimal `json:"makespan,omitzero"`
	// Outcomes counts the jobs by how they ended, in the order of [sim.Outcome].
	// All, and all groups and ratios, are of the jobs submitted in the steady window.
	Outcomes []Count `json:"outcomes"`
	All      Group   `json:"all"`
	// Sizes, Queues and Priorities are groups of jobs.
	Sizes      []Group `json:"sizes"`
	Queues     []Group `json:"queues"`
	Priorities []Group `json:"priorities"`
	// Slowdown is completion time over duration; its numbers are ratios.
	Slowdown Ratios `json:"slowdown"`
	// Rho is finish-time fairness, and Unfair the part of the jobs beyond 1.05; nil (absent
	// in JSON) is that none ended by itself.
	Rho    Ratios       `json:"rho"`
	Unfair *sim.Decimal `json:"unfair,omitempty"`
	// Jain is Jain's index of what the queues that have jobs held over their fair shares, over
	// the rows of the series, and not of those above them; 1 is fair. Nil (absent in JSON) is that no queue has a share.
	Jain *sim.Decimal `json:"jain,omitempty"`
	// Usage is over the whole run, Steady over its steady window; nil (absent in JSON) is
	// that nothing was usable there.
	Usage  *Usage `json:"usage,omitempty"`
	Steady *Usage `json:"steady,omitempty"`
	// Idle is the part of the idle GPU time by cause, and empty where none was idle. Of the
	// decisions Explained were asked for causes, and Verified plans were verified.
	Idle  []Part `json:"idle"`
	Waste Waste  `json:"gpuHours"`
	// Promises is nil (absent in JSON) where none were made.
	Promises *Promises `json:"promises,omitempty"`
	// Evictions, Moves and Shrinks are in all; EvictionsPerJob in the mean, nil (absent in
	// JSON) where there are no jobs.
	Evictions       int            `json:"evictions"`
	Moves           int            `json:"moves"`
	Shrinks         int            `json:"shrinks"`
	EvictionsPerJob *sim.Decimal   `json:"evictionsPerJob,omitempty"`
	QueueMetrics    []QueueSummary `json:"queueMetrics"`
	Events          int64          `json:"events"`
	Decisions       int64          `json:"decisions"`
	Actions         int64          `json:"actions"`
	Verified        int64          `json:"verified"`
	Explained       int64          `json:"explained"`
}

// A Count is how many there are of a name.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// A Part is a part of a whole.
type Part struct {
	Name string      `json:"name"`
	Part sim.Decimal `json:"part"`
}

// Ratios are the mean and some quantiles of ratios, by nearest rank.
type Ratios struct {
	N      int         `json:"n"`
	Mean   sim.Decimal `json:"mean"`
	Median sim.Decimal `json:"median"`
	P90    sim.Decimal `json:"p90"`
	P99    sim.Decimal `json:"p99"`
	Max    sim.Decimal `json:"max"`
}

// ratios measures ratios that are given in billionths.
func ratios(list []int64) Ratios {
	if len(list) == 0 {
		return Ratios{}
	}
	times := make([]time.Duration, len(list)) // a billionth of a second is a nanosecond
	for i, n := range list {
		times[i] = time.Duration(n)
	}
	s := spread(times)
	return Ratios(s)
}

// sizeClass is the group of a job by its GPUs.
func sizeClass(milli int64) int {
	switch {
	case milli == 0:
		return 0
	case milli < 1000:
		return 1
	case milli == 1000:
		return 2
	case milli < 8000:
		return 3
	case milli == 8000:
		return 4
	case milli < large:
		return 5
	}
	return 6
}

// large are the gangs that are told apart, as those whom small work passes for long.
const large = 64_000

var sizeNames = []string{"no GPU", "part of a GPU", "1 GPU", "up to 7 GPUs", "8 GPUs", "up to 63 GPUs", "64 GPUs or more"}

// group measures jobs.
func group(name string, jobs []*sim.JobResult) Group {
	list := func() []time.Duration { return make([]time.Duration, 0, len(jobs)) }
	jct, delay, pending := list(), list(), list()
	unfinished := 0
	for _, j := range jobs {
		if j.Outcome == sim.Unfinished {
			unfinished++
		}
		if j.Outcome == sim.Done || j.Outcome == sim.Failed {
			jct = append(jct, j.CompletionTime())
		}
		delay, pending = append(delay, j.QueueingDelay()), append(pending, j.Pending)
	}
	return Group{Name: name, Jobs: len(jobs), Unfinished: unfinished, CompletionTime: spread(jct), QueueingDelay: spread(delay), Pending: spread(pending)}
}

// groups parts the jobs by a key and measures each part, in the order of the keys.
func groups[K cmp.Ordered](jobs []*sim.JobResult, key func(*sim.JobResult) K, name func(K) string) []Group {
	sizes := make(map[K]int)
	for _, j := range jobs {
		sizes[key(j)]++
	}
	parts := make(map[K][]*sim.JobResult, len(sizes))
	for _, j := range jobs {
		k := key(j)
		if parts[k] == nil {
			parts[k] = make([]*sim.JobResult, 0, sizes[k])
		}
		parts[k] = append(parts[k], j)
	}
	out := make([]Group, 0, len(sizes))
	for _, k := range slices.Sorted(maps.Keys(sizes)) {
		out = append(out, group(name(k), parts[k]))
	}
	return out
}

// partOf is a over b, nil where there is no b.
func partOf(a, b int) *sim.Decimal {
	if b == 0 {
		return nil
	}
	d := sim.Quotient(int64(a), int64(b))
	return &d
}

// usage is what was held and used of what was usable, nil where that was nothing.
func usage(allocated, used, usable sim.Sum) *Usage {
	if usable == (sim.Sum{}) {
		return nil
	}
	return &Usage{allocated.Over(usable), used.Over(usable)}
}

// Summarize measures a run. A nil result has a nil summary.
func Summarize(r *sim.Result) *Summary {
	if r == nil {
		return nil
	}
	steady := r.Steady()
	s := &Summary{
		Scheduler: r.Scheduler, Seed: r.Seed, Input: r.Input, Trail: r.Trail, Partial: r.Partial,
		End:        sim.Seconds(r.End),
		Sizes:      groups(steady, func(j *sim.JobResult) int { return sizeClass(j.GPUs) }, func(k int) string { return sizeNames[k] }),
		Queues:     groups(steady, func(j *sim.JobResult) string { return j.Workload.Queue }, func(k string) string { return k }),
		Priorities: groups(steady, func(j *sim.JobResult) int32 { return j.Workload.Priority }, func(k int32) string { return fmt.Sprint(k) }),
		Usage:      usage(r.Allocated, r.Used, r.Usable),
		Steady:     usage(r.SteadyAllocated, r.SteadyUsed, r.SteadyUsable),
		Idle:       []Part{},
		Events:     r.Events, Decisions: r.Decisions, Actions: r.Actions, Verified: r.Verified, Explained: r.Explained,
		LeftOut: leftOut(r.LeftOut), Promises: promises(r),
	}
	if r.Makespan > 0 {
		s.Makespan = sim.Seconds(r.Makespan)
	}
	s.All = group("all", steady)
	s.ratios(steady)
	s.totals(r)
	var idle sim.Sum
	for _, sum := range r.Idle {
		idle = idle.Plus(sum)
	}
	if idle != (sim.Sum{}) {
		for i, c := range sim.Causes() {
			s.Idle = append(s.Idle, Part{c.String(), r.Idle[i].Over(idle)})
		}
	}
	s.queues(r)
	return s
}

// leftOut is how much was left out, of all kinds.
func (s *Summary) leftOut() (n int) {
	for _, c := range s.LeftOut {
		n += c.N
	}
	return n
}

// leftOut counts by kind.
func leftOut(list []sim.LeftOut) []Count {
	counts := make(map[string]int)
	for i := range list {
		counts[list[i].Kind]++
	}
	out := []Count{}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Count{kind, counts[kind]})
	}
	return out
}

// ratios takes in slowdown and fairness, job by job.
func (s *Summary) ratios(jobs []*sim.JobResult) {
	slow, rho := make([]int64, 0, len(jobs)), make([]int64, 0, len(jobs))
	unfair, limit := 0, sim.Quotient(105, 100)
	for _, j := range jobs {
		if j.Outcome != sim.Done && j.Outcome != sim.Failed {
			continue
		}
		slow = append(slow, j.Slowdown().Billionths())
		fair := j.Fairness()
		rho = append(rho, fair.Billionths())
		if fair.Cmp(limit) > 0 {
			unfair++
		}
	}
	s.Unfair = partOf(unfair, len(rho))
	s.Slowdown, s.Rho = ratios(slow), ratios(rho)
}

// totals adds up what all jobs of the run held and suffered.
func (s *Summary) totals(r *sim.Result) {
	outcomes := make([]int, len(sim.Outcomes()))
	var useful, lost, vain, unsaved, overhead, waiting, leaving sim.Sum
	for i := range r.Jobs {
		j := &r.Jobs[i]
		outcomes[j.Outcome]++
		s.Evictions, s.Moves, s.Shrinks = s.Evictions+j.Evictions, s.Moves+j.Moves, s.Shrinks+j.Shrinks
		useful, lost, vain, unsaved = useful.Plus(j.Useful), lost.Plus(j.Lost), vain.Plus(j.Vain), unsaved.Plus(j.Unsaved)
		overhead, waiting, leaving = overhead.Plus(j.Overhead), waiting.Plus(j.Waiting), leaving.Plus(j.Leaving)
	}
	for o, n := range outcomes {
		s.Outcomes = append(s.Outcomes, Count{sim.Outcome(o).String(), n})
	}
	s.EvictionsPerJob = partOf(s.Evictions, len(r.Jobs))
	s.Waste = Waste{useful.GPUHours(), lost.GPUHours(), vain.GPUHours(), unsaved.GPUHours(), overhead.GPUHours(), waiting.GPUHours(), leaving.GPUHours()}
}

// queues takes in what is told queue by queue.
func (s *Summary) queues(r *sim.Result) {
	var list []sim.Decimal
	for i := range r.Queues {
		q := &r.Queues[i]
		var held, share sim.Sum
		for k := range r.Rows {
			if row := &r.Rows[k].Queues[i]; row.Divided {
				held, share = held.Plus(sim.SumOf(row.Held)), share.Plus(sim.SumOf(row.FairShare))
			}
		}
		out := QueueSummary{Queue: q.ID, Ended: q.Ended}
		if q.Promised {
			owed := spread(slices.Clone(q.Owed))
			out.QuotaLatency = &owed
		}
		if share != (sim.Sum{}) {
			use := held.Over(share)
			out.UseOfShare = &use
			if !q.Inner {
				list = append(list, use)
			}
		}
		s.QueueMetrics = append(s.QueueMetrics, out)
	}
	if len(list) > 0 {
		jain := sim.Jain(list)
		s.Jain = &jain
	}
}

// WriteSummary writes summary.json.
func WriteSummary(w io.Writer, s *Summary) error {
	if s == nil {
		return errNothing
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}
