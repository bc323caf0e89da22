package sim

import (
	"fmt"
	"time"

	"github.com/allotsched/allot"
)

// Options say how an input is run. The zero Options run it as it is: under the
// policies of its pools, deciding at every event, at no cost of starts and stops,
// every plan verified.
type Options struct {
	// Scheduler is who decides; zero is the policies of the input's pools.
	Scheduler Scheduler
	// Costs are those of the jobs that give none.
	Costs Costs
	// Period: decisions are made at multiples of it only, and only if something has
	// happened; 0 is after every event. Latency is how long a plan takes from the
	// decision to the cluster. What happens meanwhile waits for the next decision,
	// and what can no longer be carried out is left out.
	Period  time.Duration
	Latency time.Duration
	// Drop is how many of 1000 actions fail by chance, drawn by Seed. The engine
	// decides again a second later, or at the next event.
	Drop int64
	Seed uint64
	// Until ends the run at an instant; 0 is when nothing more can happen.
	Until time.Duration
	// From and To bound the steady window: what reports tell of jobs is of those
	// submitted in it, so that a run-up may be left out. From 0 is the first submission, To 0 the last.
	From, To time.Duration
	// Sample is the distance between rows of the series; 0 is none. A run ends with a [*Fault]
	// that would have more than 1,048,576 of them.
	Sample time.Duration
	// VerifyEvery: of so many plans one is verified ([verify.Plan]); 0 and 1 are all.
	// NoVerify verifies none.
	VerifyEvery int64
	NoVerify    bool
	// ReasonsEvery: of so many decisions one is asked what those wait for who wait,
	// which is what idle GPUs are told apart by; 0 and 1 are all. Who has come since is
	// [Untold]. NoReasons asks none, nor for the fair shares that rows of the series
	// have. A plan that is neither verified nor asked for reasons need not be written
	// in full, which is most of the time of a run; what happens is the same.
	ReasonsEvery int64
	NoReasons    bool
	// LeaveOut runs an input without what is wrong of it: jobs and changes that cannot be, and what
	// of its trace could not be read ([Input.LeftOut]). Without it such an input is
	// refused before the run begins, with a [*BadInputError] that lists all of it.
	LeaveOut bool
	// Check has the engine check its invariants after every decision, at a
	// multiple of the time.
	Check bool
	// Observe is told every event and action, in order. It must not keep pointers
	// that an event holds.
	Observe func(Event)
	// Progress is told now and then how far the run is. The run ends early, marked
	// as partial, if it returns false.
	Progress func(Progress) bool
}

// check reports an option that makes no sense.
func (o *Options) check() error {
	wrong := ""
	switch {
	case !o.Costs.valid():
		wrong = "a cost is negative"
	case min(o.Period, o.Latency, o.Sample, o.Until, o.From, o.To) < 0:
		wrong = "a time is negative"
	case o.To > 0 && o.To < o.From:
		wrong = "the steady window ends before it begins"
	case o.Drop < 0 || o.Drop > 1000:
		wrong = "Drop is not from 0 to 1000"
	case o.VerifyEvery < 0 || o.ReasonsEvery < 0:
		wrong = "VerifyEvery or ReasonsEvery is negative"
	}
	if wrong != "" {
		return fmt.Errorf("sim: an option is out of range: %s", wrong)
	}
	return nil
}

// Progress says how far a run is.
type Progress struct {
	// Now is the simulated time, Events is how many have happened.
	Now    time.Duration
	Events int64
	// Jobs are those of the input; of those some have been submitted, and of those
	// some have ended.
	Jobs, Arrived, Ended int
}

// A Scheduler is a way to use the library: a policy, and what the host does to the
// cluster and to what is submitted. The zero Scheduler leaves everything as it is.
type Scheduler struct {
	// Name is for reports.
	Name string
	// Policy is that of every pool; nil leaves their own.
	Policy *allot.Policy
	// Cluster changes the cluster before the run and after each change of a queue;
	// nil does not. It must come to the same when it is applied twice, and adds no workloads.
	Cluster func(*allot.State)
	// Submit changes a workload when it is submitted, but for its ID, and gives it no tasks and no
	// alternatives; nil does not.
	Submit func(*Job, *allot.Workload)
	// Rank is an algorithm of one's own: at each decision it puts the jobs in an order, and
	// the library fills the cluster in that order under Policy, which had better evict
	// nobody ([FirstFit]'s). Who has no turn does not run. Where starting or stopping costs
	// nothing the cluster is emptied before; otherwise who runs and is in the plan stays,
	// and who has to leave takes its grace. Plan is one that makes the whole plan, for the
	// state as it is, and nil to do nothing; it must be one that can be carried out, and
	// that is all that is asked of it. Neither may change what it is shown. One that keeps
	// something from one decision to the next is for one run.
	Rank func(*View) []Turn
	Plan func(*View, *allot.State) (*allot.Plan, error)
	// ranking makes the order in which everything is planned anew at each decision;
	// nil goes on from what runs.
	ranking func() ranking
	// scatters: each GPU that a job asks is a task of its own, so that all places are alike.
	scatters bool
}

// replans: everything is planned anew at each decision.
func (s *Scheduler) replans() bool { return s.ranking != nil || s.Rank != nil }

// EventKind says what an Event is.
type EventKind uint8

const (
	// SubmitEvent: Job enters its queue.
	SubmitEvent EventKind = iota + 1
	// ActionEvent: Action is carried out for Job.
	ActionEvent
	// StopEvent: Job, which is planned anew at each decision, loses its places; what
	// it has instead is told by actions of the same instant.
	StopEvent
	// CheckpointEvent: Job has saved its work.
	CheckpointEvent
	// ChangeEvent: Change happens.
	ChangeEvent
	// EndEvent: Job ends with Outcome.
	EndEvent
	// PromiseEvent: what Job is promised is another, see Promise.
	PromiseEvent
)

var eventNames = [...]string{
	SubmitEvent: "submit", ActionEvent: "action", StopEvent: "stop", CheckpointEvent: "checkpoint",
	ChangeEvent: "change", EndEvent: "end", PromiseEvent: "promise",
}

// String is the text form, such as "submit".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return ""
}

// MarshalText writes the text form.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// An Event is something that happened in a run.
type Event struct {
	// At is when.
	At   time.Duration
	Kind EventKind
	// Job is the ID of the workload, empty for a change of the cluster.
	Job string
	// Action is set for an ActionEvent, Change for a ChangeEvent, Outcome for an
	// EndEvent, Promise for a PromiseEvent. Claimed: what a Start, Resize or Move gives is not free yet.
	Action  *allot.Action
	Claimed bool
	// GPUs is what each of the tasks takes of its node that Action gives places, or Promise
	// promises any, in milli-GPU.
	GPUs    []int64
	Change  *Change
	Outcome Outcome
	Promise *allot.PlannedReservation
}

// Outcome is how a job ended.
type Outcome uint8

const (
	// Unfinished: it was submitted and has not ended, as the run was ended before, or
	// because it waits for ever.
	Unfinished Outcome = iota
	// Done: its work is done.
	Done
	// Failed by its own cause, or as it had run for as long as its workload's TimeLimit.
	Failed
	// Cancelled by its user.
	Cancelled
	// Preempted: evicted, and by its policy not to wait again (S6).
	Preempted
	// NotSubmitted: the run was ended before it came.
	NotSubmitted
	outcomes
)

// Outcomes are all of them, in their order.
func Outcomes() []Outcome {
	return []Outcome{Unfinished, Done, Failed, Cancelled, Preempted, NotSubmitted}
}

var outcomeNames = [...]string{"unfinished", "done", "failed", "cancelled", "preempted", "not-submitted"}

// String is the text form, such as "done".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return ""
}

// MarshalText writes the text form.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
