package sim

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// A View is what a run knows when it decides, for an algorithm of one's own
// ([Scheduler.Rank], [Scheduler.Plan]). It is good until the algorithm returns.
type View struct {
	// Now is the instant.
	Now time.Duration
	// Usable is what may be held of all GPUs, in milli-GPU.
	Usable int64
	// Jobs are those that have been submitted and have not ended, in the order in which
	// they came.
	Jobs   []JobView
	engine *engine
}

// Wake has the run decide at an instant, whatever happens: at the end of a round, or when
// a rank will be another. What is not later than now, or later than a run can last, does nothing. A
// run ends in which nothing else is to come where nothing has come of 10,000 decisions.
func (v *View) Wake(at time.Duration) {
	if at > v.Now && at <= horizon {
		v.engine.wakeAt(at)
	}
}

// A JobView is a job as it stands.
type JobView struct {
	// Job is the input's. It must not be changed.
	*Job
	// GPUs is what it asks with all its tasks, in milli-GPU, Held what it holds now. Tasks
	// are those that run. Runs: it has what it needs to run.
	GPUs, Held int64
	Tasks      int
	Runs       bool
	// Done is how much of its work is done, Left how much is left by its estimate, and at
	// least 0; both as the time that all its tasks take for it.
	Done, Left time.Duration
	// Worked is for how long it has worked, Service the GPU time, in milli-GPU ×
	// nanoseconds, that it held while it did. Waited is for how long it has waited.
	Worked  time.Duration
	Service Sum
	Waited  time.Duration
	// Starts and Evictions are how often it has begun to run, and was evicted.
	Starts, Evictions int
	// contention is that of its life so far.
	contention Sum
	total      int64
	age        time.Duration
}

// Rho is the finish-time fairness ρ that the job will have if it runs on from now
// ([JobResult.Fairness]).
func (j *JobView) Rho() Decimal {
	if j.age == 0 {
		return Quotient(int64(j.Left), int64(j.Duration))
	}
	// (age + left) / (duration × contention / (age × total))
	var d Decimal
	if below := new(big.Int).Mul(big.NewInt(int64(j.Duration)), j.contention.big()); below.Sign() > 0 {
		above := new(big.Int).Mul(big.NewInt(int64(j.age)), big.NewInt(int64(j.age+j.Left)))
		d.rat.SetFrac(above.Mul(above, big.NewInt(j.total)), below)
	}
	return d
}

// A Turn is a job's place in an order.
type Turn struct {
	// Job is its position in [View.Jobs].
	Job int
	// Models are the GPU models that it may have now, of those that it asks for, and nil is all
	// of them. A job that accepts none of these does not run.
	Models []string
	// Tasks is how many tasks it may have at most, if it may run with fewer than all: no
	// fewer than its minimum. 0 is all.
	Tasks int
}

// view is what there is to know, and the jobs that it shows.
func (e *engine) view() (v *View, jobs []*job) {
	v = &View{Now: e.now, Usable: e.meter.usable, engine: e}
	for _, i := range e.library.jobs {
		if j := e.jobs[i]; j.phase != leaving {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, j := range jobs {
		v.Jobs = append(v.Jobs, j.view(e))
	}
	return v, jobs
}

func (j *job) view(e *engine) JobView {
	e.account(j)
	full := j.unit()
	contention := e.meter.contention
	contention.take(j.result.contention)
	return JobView{
		Job: j.Job, GPUs: j.asks, Held: j.held, Tasks: j.n, Runs: j.runs(),
		Done: time.Duration(j.done / full), Left: j.thought(j.done, full),
		Worked: j.worked, Service: j.attained, Waited: j.result.Pending, Starts: j.result.Starts, Evictions: j.result.Evictions,
		contention: contention, total: e.meter.total, age: e.now - j.Submit,
	}
}

// byOwn ranks by an algorithm of one's own.
type byOwn struct{ rank func(*View) []Turn }

func (r *byOwn) arrive(*job) {}

func (r *byOwn) decided(*engine) {}

func (r *byOwn) works(*engine, *job) {}

func (r *byOwn) crosses(*job, uint64) bool { return false }

// order asks for it. A turn that makes no sense is an error.
func (r *byOwn) order(e *engine) ([]*job, error) {
	v, jobs := e.view()
	for _, j := range jobs {
		j.turn = nil
	}
	turns := r.rank(v)
	order := make([]*job, 0, len(turns))
	for i := range turns {
		t := &turns[i]
		if t.Job < 0 || t.Job >= len(jobs) || t.Tasks < 0 {
			return nil, e.wrong("turn %d is of job %d of %d, with %d tasks", i, t.Job, len(jobs), t.Tasks)
		}
		j := jobs[t.Job]
		if j.turn != nil {
			return nil, e.wrong("job %q has two turns", j.Workload.ID)
		}
		if j.turn = t; j.accepts(t.Models) {
			order = append(order, j)
		} else {
			e.meter.told(j, ByRule)
		}
	}
	for _, j := range jobs {
		if j.turn == nil {
			e.meter.told(j, ByRule)
		}
	}
	return order, nil
}

// accepts says whether there is for each pod set one of the models that the job accepts.
func (j *job) accepts(models []string) bool {
	return len(models) == 0 || !slices.ContainsFunc(j.Workload.PodSets, func(p allot.PodSet) bool { return len(common(p.Request.GPU.Models, models)) == 0 })
}

// common are the models of a turn that a request accepts, which are all where it names none.
func common(accepted, models []string) []string {
	if len(accepted) == 0 {
		return models
	}
	return slices.DeleteFunc(slices.Clone(models), func(m string) bool { return !slices.Contains(accepted, m) })
}

// plain says whether the turn leaves its job all that it asks.
func (t *Turn) plain() bool { return t == nil || len(t.Models) == 0 && t.Tasks == 0 }

// restrict has a workload ask what its turn lets it have.
func (t *Turn) restrict(w *allot.Workload, held int) {
	if t.plain() {
		return
	}
	w.PodSets = slices.Clone(w.PodSets)
	for i := range w.PodSets {
		p := &w.PodSets[i]
		if len(t.Models) > 0 {
			p.Request.GPU.Models = common(p.Request.GPU.Models, t.Models)
		}
		if t.Tasks > 0 && p.Min > 0 && len(w.PodSets) == 1 {
			p.Count = min(p.Count, max(t.Tasks, p.Min, held))
		}
	}
}

// ownPlan asks the scheduler for a plan, and carries it out as far as it can be.
func (e *engine) ownPlan() error {
	e.library.state.Now = e.instant()
	v, _ := e.view()
	plan, err := e.scheduler.Plan(v, e.library.state)
	if err != nil {
		return e.fault(fmt.Errorf("scheduler %s: %w", e.scheduler.Name, err))
	}
	if plan == nil {
		return nil
	}
	if _, err := allot.Begin(e.library.state, plan); err != nil {
		return e.fault(fmt.Errorf("the plan of scheduler %s cannot be: %w", e.scheduler.Name, err))
	}
	if err := e.enact(&flight{plan: plan, explains: true}); err != nil {
		return err
	}
	if err := allot.Check(e.library.state); err != nil {
		return e.wrong("after the plan of scheduler %s: %w", e.scheduler.Name, err)
	}
	return nil
}
