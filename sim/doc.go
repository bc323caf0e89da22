// Package sim says what a cluster would have done: it embeds the library as a host
// does, with a virtual clock, and runs a trace through it in seconds.
//
//	result, err := sim.Run(input, sim.Options{Scheduler: sim.FIFO()})
//
// Inputs are read, written and made by package sim/trace; package sim/report turns
// results into tables and files. The command allot replay (examples/allot) has all of it.
//
// # Time
//
// The clock is an int64 of nanoseconds since the run's zero and goes from event to
// event. Nothing reads a real clock. The library sees [Epoch] plus that time, at its
// own precision of microseconds.
//
// Events have one total order: time, then class, then the order in which they were
// foreseen. The classes are, in this order: a phase of a job is over; tasks that came to a
// run have started; tasks are gone; the cluster changes; a job arrives; a user gives up; a
// plan comes into force; it is time to decide; a rank is another; a row of the series, which
// tells what is when all else of its instant has happened. All facts of an instant come before its
// decision. What follows at once from the decision (an eviction without grace frees
// its place) is a fact of the same instant and may cause another decision there, at
// most a hundred.
//
// A job has one timer, for the end of its phase. Each phase has a number, its epoch,
// and a timer of an earlier epoch is dropped: an end that was foreseen before an
// eviction never happens.
//
// # What the engine does and what the library does
//
// The engine keeps the truth: which task holds which place, how much work is done. It puts
// it to the library as a state, gets a plan, has it verified (as often as
// [Options.VerifyEvery] says), and carries it out as [allot.Begin] says, and what takes no
// time at once, as [allot.Apply] says. It decides nothing itself. A decision is made
// when something has happened since the last one: at once, or at the next multiple of
// [Options.Period]. A plan may take [Options.Latency] to come into force; what is no
// longer possible then is left out, as found out by [allot.BeginSome]. Some actions
// may fail ([Options.Drop]). The engine also decides when a protection that held a
// plan up ends, and when a broken gang's grace is over.
//
// A job is in one of these phases:
//
//	waiting ──▶ starting ──▶ working ◀──▶ saving
//	   ▲  ▲        │            │            │
//	   │  └────────┴── stopped ─┴────────────┘      working ──▶ ended
//	   └─▶ partial: holds some of its tasks and waits for the rest
//
// It works while its pod sets and groups are at their minimum (G1, G3), at the speed
// for the tasks that run ([Job.Speed], which is goodput where that is less than throughput)
// and for the GPUs that they have ([Job.ModelSpeed]). Work is an integer, duration × speed,
// so no resizing rounds any of it away; an end falls on the first nanosecond at which all
// of it is done. What is lost when it is stopped, and what starting, saving and
// leaving take, is told by [Costs]: under every scheduler, and also where tasks come to a job that
// runs, or leave it. Checkpoints are told in time of work, at whatever speed: a job at half
// its speed saves as often, and half as much.
//
// # What is measured
//
// GPUs are counted in milli-GPU. What is usable at an instant are the GPUs that may be given
// away, of nodes of a pool that are neither lost nor cordoned, healthy, and without what others than
// the library have there ([allot.Device.Foreign]), and what jobs still hold on cordoned
// nodes. A job holds what its tasks hold that run or leave; of memory, the part of the
// devices that it is on. What is held is booked for what the tasks do: work that counts, is
// lost or was in vain, starting and saving, waiting for the rest of a gang, leaving. What is
// usable and not held is idle, by [Cause]: GPUs that a job waits for are idle for the reason
// that it was told last, first those for which they would do; the others are idle as no job wants
// them. Where a job has been told no reason yet, as the decision is still to come or was not asked
// for reasons, they are idle for [Untold]; and so is what has become free since the last
// decision, as far as a job waits that can ever start.
//
// A wait counts from submission, a wait within a quota from when a job waits with the
// missing part of whose minimum the queue and all above it are within their quotas, both to the
// end of the run where they do not end before. A job that has not ended has no completion time, and is counted as
// unfinished. What there is none of is absent and not 0.
//
// # Schedulers to compare
//
// A [Scheduler] is a policy and what the host does with the cluster and with what is
// submitted. [FIFO], [FirstFit], [SJF], [FairShare] and [StaticPartition] are values
// of [allot.Policy]. [SRTF], [SRSF] and [LAS] are no policies: as their publications
// have it, everything is planned anew at each decision. They put to the library a
// state in which every job waits and was submitted in the order of rank; a job that is in the
// plan runs, and moves and evictions are the difference to the plan before. Neighbours
// in rank that ask the same may be one workload of that state, as long as all of them
// start: they have the places that they would have one by one. Under LAS,
// where all places are alike, the first in rank run wherever they are as long as all
// that they ask fits: if they run already, the library is told that they do. Where
// starting or stopping costs something, the plan so found says which jobs run; one that runs already
// stays, one that has to leave takes its grace, and the library gives the others what is left.
//
// [Sound] is of an input what several of them can run alike, so that they are compared by the
// same jobs.
//
// # Promises and usage
//
// Where the policy of a pool makes promises ([allot.ReservePolicy]), the library is told how long
// jobs take: by [Job.Estimate], or the truth where there is none, with what starting and saving
// takes, and from what is left of a job that goes on. What they really take stays Duration. An
// elastic job is told as fixed work that comes to the end that is foreseen at its speed. A job of one
// size that by its estimate takes less than the MinDuration of its workload is refused before the run; where less than
// that is left of a job later, its MinDuration is told as what is left. A job
// whose workload has a TimeLimit is ended when its run has lasted so long, and has failed; limits
// that only its queue or policy says are the library's alone. What a
// plan promises the engine keeps in the state (B7), and it decides again at [allot.Plan.NextAt]: when
// a job has not ended that was thought to. [EASY] and [Conservative] are the
// baselines; [Reserving] is a preset with promises. [Result.Promises] says of each promise when it
// was made, for when, and by how much it was late; [Result.Reserved] what they kept idle.
//
// Where a policy goes by usage ([allot.Policy].UsageStrengthMilli), the engine keeps the history of what
// queues held, of each resource, and tells the library at its ticks (B12).
//
// # One's own algorithm
//
// [Scheduler.Rank] is a function from what a run knows, a [View], to an order of the jobs,
// and [Scheduler.Plan] one to a whole plan. A [Turn] may also say on which GPU models a job
// may run now and with how many tasks, as the algorithms need it that share out unlike GPUs,
// or resize jobs. They are called at each decision: after every event, in rounds
// ([Options.Period]), and when they have asked for it ([View.Wake]). A run ends with a [*Fault]
// where at more than 10,000 instants jobs were stopped before anything more of their work was saved,
// and meanwhile no job came, ended, or ran all the time and the cluster did not change, unless the
// run has an [Options.Until].
//
// # Chance
//
// There is none but in the generators and fault injectors of sim/trace, which make
// inputs, and in [Options.Drop]; all of it is drawn from math/rand/v2 generators by
// seeds, with integers alone. The same input and options give the same [Result] to
// the bit, on every machine. The result has the seed, a hash of the input, and its
// trail, a hash of everything that happened.
//
// # Invariants
//
// Checked at every instant of every run: jobs hold no more than is usable. Checked at the
// end: the GPU time that jobs were booked ([JobResult.Held]) is what the cluster held, to the
// milli-GPU × nanosecond, and with what was idle it is what was usable; and the time integral
// of the number of jobs in the system is the sum of the times that they were in it (Little's
// law). With [Options.Check],
// after every decision: the state is one that [allot.Check] accepts, every job that
// waits is in the plan with a reason (where plans are carried out at once and in full),
// and what jobs hold adds up.
//
// # Cost
//
// O(log n) an event beside the decision it causes. A decision takes most of the time:
// in proportion to what has changed, where a snapshot can be decided upon so
// ([allot.Decision.Incremental]); a solve of the whole state, where a policy lets too
// many change, and at each decision of [SRTF] and [SRSF]. One in which every job runs in
// full is none. To verify a plan, or to ask it for reasons, takes a solve of the whole state
// and more: of a large cluster that is for one decision of many.
//
// Rules are cited by number; RULES.md states them.
package sim
