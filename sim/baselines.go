package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Baselines are the schedulers to compare with, in the order of their names below. Under those
// that evict, which are [SRTF], [SRSF], [LAS] and [FairShare], all work is preemptible, whatever
// a trace says of it.
func Baselines() []Scheduler {
	return []Scheduler{FIFO(), FirstFit(), EASY(), Conservative(), SJF(), SRTF(), SRSF(), LAS(), FairShare(), StaticPartition()}
}

// plainPolicy takes one workload after the other, lets everything run to its end,
// and takes the first nodes that fit; no place is thought over again.
func plainPolicy(name string, q queue.Queueing) *allot.Policy {
	return &allot.Policy{
		Name: name, Order: queue.Global, Queueing: q,
		GPUStrategy: placement.First, CPUStrategy: placement.First,
		NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
		MaxReplacedStarts: quota.Of(0),
	}
}

// withoutQuotas takes from the queues all that they decide.
func withoutQuotas(s *allot.State) {
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Resources, q.MaxWorkloads, q.MinRuntime, q.Queueing = nil, quota.Bound{}, allot.MinRuntime{}, queue.AsPool
	}
	s.Budgets = nil
}

// plain takes from a workload what only policies with classes know.
func plain(_ *Job, w *allot.Workload) {
	w.Class, w.Priority, w.Preemption, w.Strategy = "", 0, allot.Preemptible, placement.Default
}

// FIFO is strict first in, first out: what does not fit stops everything behind it.
// Nothing is evicted, queues have no say.
func FIFO() Scheduler {
	return Scheduler{Name: "fifo", Policy: plainPolicy("fifo", queue.StrictPool), Cluster: withoutQuotas, Submit: plain}
}

// FirstFit is [FIFO] that goes on behind what does not fit.
func FirstFit() Scheduler {
	return Scheduler{Name: "first-fit", Policy: plainPolicy("first-fit", queue.BestEffort), Cluster: withoutQuotas, Submit: plain}
}

// EASY is [FIFO] with EASY backfill (Lifka 1995): the first that waits is promised the earliest
// time at which its places are free, by what the estimates of the others say, and whoever
// comes later starts if that is not made later by it. Nothing is evicted, also where an
// estimate was too short: then the promise is late.
func EASY() Scheduler { return backfilling("easy", queue.EASY) }

// Conservative is [EASY] in which everybody who waits is promised a time, of the first
// hundred (Mu'alem and Feitelson 2001). Promises are of devices and not of so many processors:
// who could start by passing others on any of them may have to wait for those that it was
// promised, so that few jobs start later than by the book.
func Conservative() Scheduler { return backfilling("conservative", queue.Conservative) }

func backfilling(name string, kind queue.Backfill) Scheduler {
	policy := plainPolicy(name, queue.BestEffort)
	policy.Reserve = allot.ReservePolicy{Backfill: kind, TrustDurations: true}
	return Scheduler{Name: name, Policy: policy, Cluster: withoutQuotas, Submit: func(j *Job, w *allot.Workload) {
		plain(j, w)
		w.Preemption = allot.NonPreemptible // whoever passes others is not told to go
	}}
}

// SJF takes the shortest job first, by its estimate in seconds, rounded up, and
// lets it run to its end; behind what does not fit it goes on.
func SJF() Scheduler {
	s := FirstFit()
	s.Name = "sjf"
	s.Submit = func(j *Job, w *allot.Workload) {
		plain(j, w)
		seconds := (cmp.Or(j.Estimate, j.Duration) + time.Second - 1) / time.Second
		w.Priority = -int32(min(seconds, math.MaxInt32))
	}
	return s
}

// SRTF takes the shortest remaining time first, by what is left of the estimate. At
// every decision the cluster is emptied and filled again. Where starting or stopping costs
// something ([Costs]) only who runs is found out so: they stay where they are, who has to
// leave takes its grace, and who starts takes the places that are left.
func SRTF() Scheduler {
	s := FirstFit()
	s.Name = "srtf"
	s.ranking = func() ranking { return &byRemaining{} }
	return s
}

// SRSF is [SRTF] by the remaining time × GPUs.
func SRSF() Scheduler {
	s := SRTF()
	s.Name = "srsf"
	s.ranking = func() ranking { return &byRemaining{timesGPUs: true} }
	return s
}

// LAS is least attained service in three queues, first in, first out, as Tiresias
// has discretised it (2D-LAS, NSDI 2019): a job goes down at 3,250 and again at
// 7,200 GPU-seconds, to the end of the next queue. After each decision those that
// run stand before those that wait in each queue, which keeps the order otherwise.
// It crosses a limit when it has worked for that long in all, in whole seconds rounded
// up; a crossing that was foreseen of a job that has stopped since is no event. It looks at
// counts alone: each GPU that a job asks may be on any node, and a job runs when it has all.
func LAS() Scheduler {
	s := FirstFit()
	s.Name, s.scatters = "las", true
	s.ranking = func() ranking {
		return &byAttained{limits: []int64{3250, 7200}, queues: make([][]*job, 3), level: make(map[*job]int), foreseen: make(map[*job]uint64)}
	}
	s.Submit = func(j *Job, w *allot.Workload) {
		plain(j, w)
		w.Groups, w.Topology = nil, allot.Topology{}
		scattered := make([]allot.PodSet, len(w.PodSets))
		for i := range w.PodSets {
			scattered[i] = scatter(&w.PodSets[i])
		}
		w.PodSets = scattered
	}
	return s
}

// scatter is a pod set of as many GPUs, each for a task of its own, and of nothing else.
func scatter(p *allot.PodSet) allot.PodSet {
	asks := p.Request.GPU
	tasks := int64(min(p.Count, math.MaxInt32)) * int64(min(max(asks.Count, 1), math.MaxInt32)) // more are refused
	out := allot.PodSet{Name: p.Name, Count: int(min(tasks, math.MaxInt32)), Request: allot.Request{GPU: allot.GPURequest{Milli: asks.Milli, Memory: asks.Memory}}}
	if asks.Count > 0 {
		out.Request.GPU.Count = 1
	}
	if slots, asked := p.Request.Resources[Slots]; asked {
		out.Request.Resources = map[string]int64{Slots: slots}
	}
	return out
}

// FairShare is weighted fair share alone: no quotas, the GPUs are divided among the
// queues that want them by weight (by quota where none is given, and equally where
// there is neither), and who has more gives back.
func FairShare() Scheduler {
	return Scheduler{
		Name: "fair-share", Policy: &allot.Policy{Name: "fair-share"}, Submit: plain,
		Cluster: func(s *allot.State) {
			for i := range s.Queues {
				q := &s.Queues[i]
				weight := quota.Of(1)
				for _, r := range q.Resources {
					if r.Resource == allot.GPU && r.Class == "" {
						weight = r.Weight
						if !weight.Given() {
							weight = quota.Of(max(r.Quota.Amount(), 1))
						}
					}
				}
				q.Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(0), Weight: weight}}
			}
		},
	}
}

// StaticPartition gives every queue its quota of GPUs and no more, first come, first
// served in each of them; what does not fit is passed over. Nothing is evicted. A queue with
// jobs and without a quota has none of the GPUs (Q1), unless no queue has any: then there is no
// partition.
func StaticPartition() Scheduler {
	policy := plainPolicy("static-partition", queue.BestEffort)
	policy.Order = queue.FairShare
	return Scheduler{Name: "static-partition", Policy: policy, Submit: plain, Cluster: partition}
}

// partition makes the queues' quotas of GPUs their limits.
func partition(s *allot.State) {
	inner, under := make(map[string]bool), make(map[string]bool) // pools that are under quota (Q1)
	for i := range s.Queues {
		q := &s.Queues[i]
		inner[q.Parent] = true
		if ofGPUs(q).Quota.Given() {
			under[q.Pool] = true
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		gpus := ofGPUs(q)
		switch {
		case gpus.Quota.Given():
			gpus.Limit = gpus.Quota
		case under[q.Pool] && !inner[q.ID]:
			gpus.Limit = quota.Of(0)
		default:
			continue
		}
		q.Resources = append(slices.DeleteFunc(slices.Clone(q.Resources), isGPUs), gpus)
	}
}

// isGPUs says whether a setting is that of all GPUs.
func isGPUs(r allot.QueueResource) bool { return r.Resource == allot.GPU && r.Class == "" }

// ofGPUs is what is set of a queue for all GPUs.
func ofGPUs(q *allot.Queue) allot.QueueResource {
	if at := slices.IndexFunc(q.Resources, isGPUs); at >= 0 {
		return q.Resources[at]
	}
	return allot.QueueResource{Resource: allot.GPU}
}

// Preset is a policy as a scheduler, such as [allot.RunAI]. Work has the class that
// class names, or its own where it gives nil.
func Preset(name string, policy allot.Policy, class func(*Job) string) Scheduler {
	s := Scheduler{Name: name, Policy: &policy}
	if class != nil {
		s.Submit = func(j *Job, w *allot.Workload) {
			w.Class, w.Priority, w.Preemption = class(j), 0, allot.PreemptionByClass
		}
	}
	return s
}

// Presets are the five published policies as schedulers. Work that may be preempted
// has the lowest class, work that may not the default one, or what comes nearest.
func Presets() []Scheduler {
	named := func(policy allot.Policy, preemptible, other string) Scheduler {
		return Preset(policy.Name, policy, func(j *Job) string {
			if j.Workload.Preemption == allot.NonPreemptible {
				return other
			}
			return preemptible
		})
	}
	return []Scheduler{
		named(allot.OSMO(), "LOW", "NORMAL"),
		named(allot.RunAI(), "train", "build"),
		named(allot.RunAI20(), "training", "interactive"),
		named(allot.DeterminedFairShare(), "trial", "command"),
		named(allot.DeterminedPriority(), "trial", "command"),
	}
}

// Reserving is a scheduler whose policy, the zero one where it has none, makes promises to
// gangs by [Reservations] beside; its name is the other's with "-reserving" behind.
func Reserving(s Scheduler) Scheduler {
	var policy allot.Policy
	if s.Policy != nil {
		policy = *s.Policy
	}
	s.Name += "-reserving"
	policy.Name, policy.Reserve = s.Name, Reservations()
	s.Policy = &policy
	return s
}

// Reservations is the set of knobs that users of a preset would turn on who want large gangs
// to start some day (B3–B5): the first gangs in order, ten at most, have a promise each, and
// who would delay one does not start, as far as is known how long work takes.
func Reservations() allot.ReservePolicy {
	return allot.ReservePolicy{Backfill: queue.EASY, Depth: 10, GangsOnly: true, TrustDurations: true}
}

// Schedulers are all baselines and presets, and of two presets what becomes of them
// with [Reservations].
func Schedulers() []Scheduler {
	presets := Presets()
	return append(append(Baselines(), presets...), Reserving(presets[0]), Reserving(presets[1]))
}
