package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// An Input is what a run is about: a cluster, the jobs that are submitted to it,
// and what else happens. All instants are times since the run's zero, which is
// [Epoch] in the states that the library sees.
type Input struct {
	// Cluster has the nodes, pools, queues and budgets, and no workloads.
	Cluster allot.State
	// Jobs are the work. Of two that are submitted at once the one with the lower ID
	// comes first (O1).
	Jobs []Job
	// Changes are what happens beside: losses of nodes, other quotas, and so on.
	Changes []Change
	// LeftOut is what whoever has read the input could make nothing of. No run begins
	// with it but with [Options.LeaveOut].
	LeftOut []LeftOut
}

// Submissions are when the first job is submitted, and when the last one is; both are 0 where there are none.
func (in *Input) Submissions() (first, last time.Duration) {
	if in == nil || len(in.Jobs) == 0 {
		return 0, 0
	}
	first = in.Jobs[0].Submit
	for i := range in.Jobs {
		first, last = min(first, in.Jobs[i].Submit), max(last, in.Jobs[i].Submit)
	}
	return first, last
}

// A Job is a workload with what only a simulator knows of it.
type Job struct {
	// Workload is what is submitted. Its ID is unique; it holds no tasks, and the
	// engine sets Submitted.
	Workload allot.Workload
	// Submit is when it enters its queue.
	Submit time.Duration
	// Duration is how long it runs with all its tasks and nothing in its way. It
	// must be positive.
	Duration time.Duration
	// Estimate is what schedulers are told of Duration; 0 is the truth.
	Estimate time.Duration
	// Fails: it ends as failed, by its own cause.
	Fails bool
	// CancelAfter is how long after Submit its user gives it up; 0 is never.
	CancelAfter time.Duration
	// Speed is its throughput by the number of tasks that run, or its goodput where more
	// of them make each sample worth less, from one task on, in any unit; the last entry holds for more. With all its tasks it works at what
	// the entry for their number says. None is in proportion to the tasks.
	Speed []int64
	// ModelSpeed is how fast it works on GPUs of a model, in thousandths of what Duration
	// and Speed are told for; on models that are not listed it is 1000. On GPUs of several
	// it works as on the slowest.
	ModelSpeed map[string]int64 `json:",omitempty"`
	// Costs are what starting and stopping takes; nil is the run's.
	Costs *Costs
	// Line is the line of the file that it was read from, 0 where there was none, and Name how
	// it is named there, where that is not its ID. They are for messages alone.
	Line int    `json:"-"`
	Name string `json:"-"`
}

// Costs are what starting, stopping and saving a job takes. The zero Costs cost
// nothing, and lose no work.
type Costs struct {
	// Start is from having a place to working (pulling images): of the whole job, or, of
	// a job that runs and grows, of the tasks that come to it, while it works on with
	// those that it had. A job that shrinks works on with those that it keeps.
	Start time.Duration `json:"start,omitzero"`
	// Grace is from being told to leave to being gone.
	Grace time.Duration `json:"grace,omitzero"`
	// Loses: what was done since the last checkpoint is lost when the job is
	// stopped. If not, work is saved as it is done, at no cost.
	Loses bool `json:"loses,omitzero"`
	// Checkpoint is for how long it works from one checkpoint to the next, at whatever
	// speed; 0 is that there are none. Save is what each takes, during which no work is
	// done.
	Checkpoint time.Duration `json:"checkpoint,omitzero"`
	Save       time.Duration `json:"save,omitzero"`
	// Restore is added to Start where there is work to go on from.
	Restore time.Duration `json:"restore,omitzero"`
}

// ChangeKind says what a Change does.
type ChangeKind uint8

const (
	// NodeLost: the node is gone with all that ran there; NodeBack: it has come
	// back, empty. One that was not lost is as it was.
	NodeLost ChangeKind = iota + 1
	NodeBack
	// Cordon: the node takes nothing new; Uncordon: it does again.
	Cordon
	Uncordon
	// DeviceLost: Device of the node is unhealthy and what ran on it is gone;
	// DeviceBack: it is healthy again, and as it was where it was not lost.
	DeviceLost
	DeviceBack
	// TaskFails: the tasks that run on Device of the node fail, of a node
	// without devices all that run there.
	TaskFails
	// QueueSet: the queue with Queue's ID is replaced by Queue, which has the same pool and
	// parent.
	QueueSet
	// PrioritySet: Job's workload has Priority from now on, if the scheduler does not
	// give it another.
	PrioritySet
	// Cancel: the user of Job gives it up, and if it has not been submitted, as soon
	// as it is.
	Cancel
)

var changeNames = [...]string{
	NodeLost: "node-lost", NodeBack: "node-back", Cordon: "cordon", Uncordon: "uncordon",
	DeviceLost: "device-lost", DeviceBack: "device-back", TaskFails: "task-fails",
	QueueSet: "queue-set", PrioritySet: "priority-set", Cancel: "cancel",
}

// String is the text form, such as "node-lost".
func (k ChangeKind) String() string {
	if int(k) >= len(changeNames) || changeNames[k] == "" {
		return fmt.Sprintf("ChangeKind(%d)", uint8(k))
	}
	return changeNames[k]
}

// MarshalText writes the text form.
func (k ChangeKind) MarshalText() ([]byte, error) {
	if int(k) >= len(changeNames) || changeNames[k] == "" {
		return nil, fmt.Errorf("sim: no such change: %d", uint8(k))
	}
	return []byte(changeNames[k]), nil
}

// UnmarshalText reads the text form; after an error k is as it was.
func (k *ChangeKind) UnmarshalText(text []byte) error {
	at := slices.Index(changeNames[:], string(text))
	if at <= 0 {
		return fmt.Errorf("sim: no such change: %q", text)
	}
	*k = ChangeKind(at)
	return nil
}

// A Change is something that happens to the cluster at an instant. Which fields
// it needs is told at its kind.
type Change struct {
	// At is when.
	At   time.Duration `json:"at"`
	Kind ChangeKind    `json:"kind"`
	// Node is an ID, Device an index on it.
	Node   string `json:"node,omitzero"`
	Device int    `json:"device,omitzero"`
	// Queue is the new setting of a queue.
	Queue *allot.Queue `json:"queue,omitempty"`
	// Job is the ID of a job's workload, Priority its new one.
	Job      string `json:"job,omitzero"`
	Priority int32  `json:"priority,omitzero"`
}

// maxWork bounds duration × speed, so that no product of it with an instant's
// length overflows.
const maxWork = 1 << 61

// check reports a fault of the cluster.
func (in *Input) check() error {
	if in == nil {
		return fmt.Errorf("sim: there is no input")
	}
	if len(in.Cluster.Workloads) > 0 {
		return fmt.Errorf("sim: the cluster has workloads: they belong into Jobs")
	}
	err := allot.Check(&in.Cluster)
	if err != nil && len(in.LeftOut) > 0 { // what is missing may be among it
		return fmt.Errorf("%w\nbeside what is left out: %w", err, &BadInputError{List: in.LeftOut})
	}
	return err
}

// maxCheckpoints bounds the checkpoints of a job: each is an event.
const maxCheckpoints = 1_000_000

// wrong is the first fault of the job that [allot.Check] would not see, by kind, and
// what it is; both are empty where there is none. run are the costs of jobs that give none.
func (j *Job) wrong(run *Costs) (kind, why string) {
	costs := cmp.Or(j.Costs, run)
	switch {
	case j.Workload.ID == "":
		return "no name", "it has no ID"
	case len(j.Workload.Tasks) > 0 || j.Workload.Ending:
		return "tasks", "it holds tasks before it is submitted"
	case len(j.Workload.Alternatives) > 0:
		return "alternatives", "alternatives are not simulated"
	case j.Submit < 0 || j.Duration <= 0 || j.Estimate < 0 || j.CancelAfter < 0:
		return "time", "a time is negative, or it takes no time"
	case j.Estimate >= horizon:
		return "time", fmt.Sprintf("it is thought to take longer than can be counted: a run lasts %v at most", horizon)
	case j.Submit > horizon-min(j.Duration, horizon):
		return "time", fmt.Sprintf("it ends later than can be counted: a run lasts %v at most", horizon)
	case !costs.valid():
		return "costs", "a cost is negative"
	case !costs.bearable(j.Duration):
		return "costs", "it takes more than a million checkpoints"
	}
	for i := range j.Workload.PodSets {
		if j.Workload.PodSets[i].Request.GPU.Memory > math.MaxInt64/1000 {
			return "memory", "it asks more memory than can be counted"
		}
	}
	for _, s := range j.Speed {
		if s <= 0 || s > maxWork {
			return "speed", "a speed is not positive, or more than can be counted"
		}
	}
	fastest := max(1, j.fullSpeed())
	for _, s := range j.Speed {
		fastest = max(fastest, s)
	}
	for _, model := range slices.Sorted(maps.Keys(j.ModelSpeed)) {
		if s := j.ModelSpeed[model]; s <= 0 || s > maxWork/fastest {
			return "speed", fmt.Sprintf("its speed on %s is not positive, or more than can be counted", model)
		}
	}
	if full := j.fullSpeed(); full > maxWork/wholePace && len(j.ModelSpeed) > 0 || int64(j.Duration) > maxWork/max(1, j.unit()) {
		return "work", fmt.Sprintf("duration %v at speed %d is too much work to count", j.Duration, full)
	}
	return "", ""
}

func (c *Costs) valid() bool {
	return min(c.Start, c.Grace, c.Checkpoint, c.Save, c.Restore) >= 0
}

// bearable: checkpoints are events, and a job has not too many of them.
func (c *Costs) bearable(d time.Duration) bool {
	return !c.Loses || c.Checkpoint == 0 || d/c.Checkpoint <= maxCheckpoints
}

// free: stopping and starting again costs nothing.
func (c *Costs) free() bool { return c.Start == 0 && c.Grace == 0 && c.Restore == 0 && !c.Loses }

// wrongChanges are the changes that no scheduler could carry out, by position.
func (in *Input) wrongChanges() map[int]LeftOut {
	found, jobs := make(map[int]LeftOut), in.changed()
	nodes := make(map[string]int, len(in.Cluster.Nodes))
	for i := range in.Cluster.Nodes {
		nodes[in.Cluster.Nodes[i].ID] = len(in.Cluster.Nodes[i].Devices)
	}
	for i := range in.Changes {
		c := &in.Changes[i]
		if fault := in.wrongChange(c, nodes, jobs); fault != "" {
			found[i] = c.leftOut(fault)
		}
	}
	return found
}

// wrongChange is the first fault of a change, empty where there is none. nodes are how many devices
// each has, jobs the positions of those that changes name.
func (in *Input) wrongChange(c *Change, nodes, jobs map[string]int) string {
	devices, known := nodes[c.Node]
	switch {
	case c.At < 0:
		return "its time is negative"
	case c.At > horizon:
		return fmt.Sprintf("its time is later than can be counted: a run lasts %v at most", horizon)
	}
	switch c.Kind {
	case NodeLost, NodeBack, Cordon, Uncordon:
		if !known {
			return fmt.Sprintf("there is no such node as %q", c.Node)
		}
	case DeviceLost, DeviceBack, TaskFails:
		if !known || c.Device < 0 || c.Device >= max(devices, 1) {
			return fmt.Sprintf("there is no such device as %d of node %q", c.Device, c.Node)
		}
	case QueueSet:
		switch q := in.queue(c.Queue); {
		case c.Queue == nil:
			return "there is no such queue"
		case q == nil:
			return fmt.Sprintf("there is no such queue as %q", c.Queue.ID)
		case q.Parent != c.Queue.Parent || q.Pool != c.Queue.Pool:
			return fmt.Sprintf("its pool or parent is another than queue %q has", q.ID)
		}
	case PrioritySet, Cancel:
		if at, named := jobs[c.Job]; !named || at < 0 {
			return "there is no such job"
		}
	default:
		return "there is no such kind"
	}
	return ""
}

// leftOut is the change as one that is left out.
func (c *Change) leftOut(why string) LeftOut {
	return LeftOut{Job: c.Job, Kind: c.Kind.String(), Why: fmt.Sprintf("%v at %v: %s", c.Kind, c.At, why)}
}

// queue is the queue of the cluster that has another's ID, nil if there is none.
func (in *Input) queue(other *allot.Queue) *allot.Queue {
	for i := range in.Cluster.Queues {
		if q := &in.Cluster.Queues[i]; other != nil && q.ID == other.ID {
			return q
		}
	}
	return nil
}

// changed are the positions of the jobs that changes name.
func (in *Input) changed() map[string]int {
	named := make(map[string]int)
	for i := range in.Changes {
		if id := in.Changes[i].Job; id != "" {
			named[id] = -1
		}
	}
	for i := range in.Jobs {
		if _, is := named[in.Jobs[i].Workload.ID]; is && len(named) > 0 {
			named[in.Jobs[i].Workload.ID] = i
		}
	}
	return named
}

// asks is what all tasks of the job ask, in milli-GPU.
func (j *Job) asks(smallest int64) (all int64) {
	for i := range j.Workload.PodSets {
		p := &j.Workload.PodSets[i]
		all += int64(p.Count) * milli(&p.Request, smallest)
	}
	return all
}

// tasks is how many tasks the job has at most.
func (j *Job) tasks() int {
	n := 0
	for i := range j.Workload.PodSets {
		n += j.Workload.PodSets[i].Count
	}
	return n
}

// elastic says whether the job may run with fewer tasks than all.
func (j *Job) elastic() bool {
	for i := range j.Workload.PodSets {
		if p := &j.Workload.PodSets[i]; p.Min > 0 && p.Min < p.Count {
			return true
		}
	}
	return len(j.Workload.Groups) > 0
}

// speed is the job's throughput with n tasks. A job of one size works at 1.
func (j *Job) speed(n int) int64 {
	switch {
	case n <= 0:
		return 0
	case len(j.Speed) > 0:
		return j.Speed[min(n, len(j.Speed))-1]
	case j.elastic():
		return int64(n)
	}
	return 1
}

func (j *Job) fullSpeed() int64 { return j.speed(j.tasks()) }

// wholePace is the speed on the GPUs that durations are told for.
const wholePace = 1000

// unit is how much work a job does in a nanosecond of its Duration.
func (j *Job) unit() int64 {
	if len(j.ModelSpeed) > 0 {
		return j.fullSpeed() * wholePace
	}
	return j.fullSpeed()
}

// Slots is a resource of nodes without devices that counts as GPUs, in milli: for
// clusters of which nothing but the number of GPUs matters.
const Slots = "gpu-slots"

// milli is what one task of the request is charged in milli-GPU; smallest is the
// smallest device memory of the cluster in bytes.
func milli(request *allot.Request, smallest int64) int64 {
	switch r := &request.GPU; {
	case r.Memory > 0 && smallest > 0:
		return int64(max(r.Count, 1)) * ((1000*r.Memory + smallest - 1) / smallest)
	case r.Milli > 0:
		return int64(max(r.Count, 1)) * r.Milli
	case r.Count > 0:
		return int64(r.Count) * 1000
	}
	return request.Resources[Slots]
}
