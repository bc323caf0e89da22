package allot

import (
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Names of the resources that Allot itself gives a meaning. Every other name
// is a resource of the host's, counted in a unit of the host's.
const (
	// GPU is the resource of quotas and shares that GPU requests are charged
	// to, in milli-GPU: 1000 is one device (S2). Nodes do not list it in
	// Capacity; their devices are it.
	GPU = "gpu"
	// CPU is in millicores.
	CPU = "cpu"
	// Memory is in bytes.
	Memory = "memory"
)

// MaxAmount is the largest amount that a State may give anywhere (2^53−1, so
// that every JSON reader keeps it exact).
const MaxAmount = 1<<53 - 1

// A State is everything [Solve] looks at, as plain data. The zero State is
// valid: it has nothing to decide. The order of its lists never matters (S3);
// whatever is named by an ID is named once.
type State struct {
	// Now is the instant the state describes, at microsecond precision; finer
	// digits are dropped. Zero is unset and stands before every other time; this
	// and every other time is zero or of the years 1970 to 9999.
	Now time.Time `json:"now,omitzero"`
	// Revision is the host's name for this state, copied to the Plan. Apply,
	// Begin and verify.Plan refuse a plan of another revision.
	Revision string `json:"revision,omitzero"`
	// Levels are the levels of the cluster's topology, the widest first (T1);
	// none is a flat cluster.
	Levels []Level `json:"levels,omitempty"`
	// Nodes are the machines.
	Nodes []Node `json:"nodes,omitempty"`
	// Pools part the nodes; each has its own policy and is solved apart. None
	// is one pool, named "", of all nodes under the zero Policy.
	Pools []Pool `json:"pools,omitempty"`
	// Queues are a tree per pool. A pool without queues has one implicit
	// queue, named "", under no quota (Q1).
	Queues []Queue `json:"queues,omitempty"`
	// Workloads are what runs and what waits.
	Workloads []Workload `json:"workloads,omitempty"`
	// Budgets bound what evictions and moves may do to the work of one owner
	// (M7); none bounds nothing.
	Budgets []DisruptionBudget `json:"budgets,omitempty"`
	// Reservations are what people have set aside for a time (B9).
	Reservations []Reservation `json:"reservations,omitempty"`
}

// A DisruptionBudget keeps a number of an owner's tasks running in each pool
// (M7): no eviction and no move leaves fewer there, losses of nodes may. Workloads
// name their owner.
type DisruptionBudget struct {
	// Owner is unique among the budgets and not empty.
	Owner string `json:"owner"`
	// MinRunning is how many Running tasks of the owner's workloads must stay in
	// each pool in which some are disturbed; 0 bounds nothing.
	MinRunning int `json:"minRunning,omitzero"`
}

// MinRuntime is how long work may run before it may be disturbed (M1), in
// seconds from when it was given its place ([Task.Since]). Absent is inherited:
// a queue's from its parent, the uppermost's from the policy, whose absent is 0.
// Unlimited protects for ever.
type MinRuntime struct {
	// Preempt protects from preemption within the queue and from moves,
	// Reclaim from other queues.
	Preempt quota.Bound `json:"preempt,omitzero"`
	Reclaim quota.Bound `json:"reclaim,omitzero"`
}

// A Node is one machine.
type Node struct {
	// ID is unique among the nodes and not empty.
	ID string `json:"id"`
	// Class is the node's class for quotas per class (Q8); empty is none.
	Class string `json:"class,omitzero"`
	// Capacity is what the node has of each resource but GPU, in the resource's
	// unit. A resource that is not listed, it does not have.
	Capacity map[string]int64 `json:"capacity,omitempty"`
	// Devices are the GPUs by index; at most 64.
	Devices []Device `json:"devices,omitempty"`
	// Domains are the names of the node's domains by level (T1). A level that is
	// not listed, or empty, the node lacks: it is in no domain of it. Domains of
	// one name are the same where those of all wider levels are.
	Domains map[string]string `json:"domains,omitempty"`
	// Hardware names one of [placement.HardwareNames] that says how the devices are
	// linked; empty is not known. The node has as many devices as that.
	Hardware string `json:"hardware,omitzero"`
	// Links override the hardware's NVLinks pair by pair, also those that are
	// down.
	Links []Link `json:"links,omitempty"`
	// MaxTasks caps the tasks on the node (pod slots); 0 is no cap.
	MaxTasks int `json:"maxTasks,omitzero"`
	// Foreign is what others (system pods, other schedulers) use of Capacity
	// (S8). It may exceed the capacity: then nothing new starts here.
	Foreign map[string]int64 `json:"foreign,omitempty"`
	// ForeignTasks are the task slots that others use (S8).
	ForeignTasks int `json:"foreignTasks,omitzero"`
	// Rank is the first key of the node's position, before its ID: ties go to
	// the lower rank (P6), and strategy First fills lower ranks first.
	Rank int64 `json:"rank,omitzero"`
	// Labels are matched by selectors (P1).
	Labels map[string]string `json:"labels,omitempty"`
	// Taints keep off every task that does not tolerate them (P1).
	Taints []placement.Taint `json:"taints,omitempty"`
	// Cordoned nodes take nothing new and are no usable capacity; what runs
	// there stays. Cordon also a node that does not answer: what it runs may still run.
	Cordoned bool `json:"cordoned,omitzero"`
	// Lost: nothing runs there any more, for sure. What ran there is displaced,
	// waits again, and may be started elsewhere by the same plan (S7). Until it
	// is sure, the node is Cordoned.
	Lost bool `json:"lost,omitzero"`
}

// A Device is one GPU of a node.
type Device struct {
	// Model is the name that requests accept and quotas per class count.
	Model string `json:"model,omitzero"`
	// Memory is in bytes; 0 is unknown, and no request for device memory fits.
	Memory int64 `json:"memory,omitzero"`
	// Socket and Switch are the NUMA socket and the PCIe switch that the device
	// hangs on, numbered from 1 within the node; 0 leaves it to the node's
	// Hardware, or is not known.
	Socket int `json:"socket,omitzero"`
	Switch int `json:"switch,omitzero"`
	// Unhealthy devices are no capacity, and nothing runs on them any more: what
	// did is displaced, waits again, and may be started elsewhere by the same plan
	// (S7). Until that is sure, all of the device is Foreign.
	Unhealthy bool `json:"unhealthy,omitzero"`
	// Foreign is what others use of the device, in milli, 0 to 1000 (S8). What
	// runs there stays.
	Foreign int64 `json:"foreign,omitzero"`
}

// A NodeSet says which nodes of its surroundings are meant. The zero NodeSet
// is all of them; otherwise a node belongs if it is named in IDs or, where a
// selector is given, matches it.
type NodeSet struct {
	// IDs name nodes, each once.
	IDs []string `json:"ids,omitempty"`
	// Selector adds the nodes whose labels it matches; nil adds none, the zero
	// Selector all.
	Selector *placement.Selector `json:"selector,omitempty"`
}

// A Pool is a set of nodes under one policy. A node belongs to at most one
// pool; a node of no pool is left alone, and so is what runs on a node that is not
// in its workload's pool any more: it counts in its queue, and neither goes nor
// moves (S7).
type Pool struct {
	// ID is unique among the pools and not empty.
	ID string `json:"id"`
	// Nodes are the pool's; zero is all of the State.
	Nodes NodeSet `json:"nodes,omitzero"`
	// Policy is how the pool is scheduled.
	Policy Policy `json:"policy,omitzero"`
	// MaxTasks bounds the tasks of all workloads of the pool together, in all their forms,
	// and MaxTasksPerWorkload those of each (V1): more are a fault, which is found before
	// anything is made for them. Hosts that plan what others write need it: a pod set of millions of
	// tasks takes few bytes to ask for, and as many places as it has tasks to plan. 0 is
	// 2^24, which all pools have together.
	MaxTasks            int `json:"maxTasks,omitzero"`
	MaxTasksPerWorkload int `json:"maxTasksPerWorkload,omitzero"`
}

// A Queue holds quota (Q1). Workloads sit in leaf queues only.
type Queue struct {
	// ID is unique among the queues of all pools and not empty.
	ID string `json:"id"`
	// Pool may be left empty where there is one pool at most.
	Pool string `json:"pool,omitzero"`
	// Parent is a queue of the same pool; empty stands directly in the pool.
	Parent string `json:"parent,omitzero"`
	// Created decides ties: the older goes first. Zero is the oldest.
	Created time.Time `json:"created,omitzero"`
	// Nodes are those of the pool that the queue may use. A queue below uses
	// at most what its parents may.
	Nodes NodeSet `json:"nodes,omitzero"`
	// Resources are the settings per resource (Q1), one entry per Resource
	// and Class.
	Resources []QueueResource `json:"resources,omitempty"`
	// MaxWorkloads caps the workloads that run at once in the queue and below
	// (Q10); absent is no cap.
	MaxWorkloads quota.Bound `json:"maxWorkloads,omitzero"`
	// MinRuntime protects what runs in the queue and below for a time (M1).
	MinRuntime MinRuntime `json:"minRuntime,omitzero"`
	// Queueing says what a workload of the queue, or of one below, that cannot start
	// does to those behind it in its own queue (O4). Absent is what the nearest parent
	// says, else the pool's [Policy.Queueing]. Blocked work of other queues that the
	// pool's stops still stops this queue's.
	Queueing queue.OwnQueueing `json:"queueing,omitzero"`
	// Durations are those of work of the queue and below that does not say them (B1).
	Durations Durations `json:"durations,omitzero"`
}

// A QueueResource is what a queue is given of one resource (Q1), in the resource's
// unit.
type QueueResource struct {
	// Resource is "gpu" (milli), "cpu", "memory" or another resource's name.
	Resource string `json:"resource"`
	// Class narrows the entry to the nodes of a class or, for GPU, to the
	// devices of a model (Q8); only Quota, Limit and BorrowingLimit apply
	// then. Empty is the total. A Quota of a class is a guarantee for which others are
	// reclaimed from like for a resource of its own, by the quota of all GPUs and of the
	// class together; absent it binds nothing in Q2, and guarantees nothing.
	Class string `json:"class,omitzero"`
	// Quota is guaranteed. Absent is 0 in a leaf and the sum of the children
	// in an inner queue, if any queue of the pool gives one for the resource;
	// otherwise the resource is under no quota.
	Quota quota.Bound `json:"quota,omitzero"`
	// Limit is the hard cap (Q3); absent is none, 0 a real 0.
	Limit quota.Bound `json:"limit,omitzero"`
	// BorrowingLimit caps use beyond quota (Q3); absent is none.
	BorrowingLimit quota.Bound `json:"borrowingLimit,omitzero"`
	// LendingLimit is what others may take of the unused quota (Q5); absent
	// is all of it.
	LendingLimit quota.Bound `json:"lendingLimit,omitzero"`
	// Weight is the queue's part of the surplus among its siblings; absent is
	// its quota (F4). Among siblings all or none give one.
	Weight quota.Bound `json:"weight,omitzero"`
	// OverQuotaPriority is the tier of surplus: a higher one is served first
	// (F3).
	OverQuotaPriority int32 `json:"overQuotaPriority,omitzero"`
	// Usage is what the queue and those below it have used of the resource, and what there
	// was of it, over the time that the host keeps ([fairshare.History], B12): under
	// [Policy.UsageStrengthMilli] it changes the weight (F6). Zero is that nothing was used.
	Usage fairshare.Usage `json:"usage,omitzero"`
}

// Preemption says whether a workload may be evicted and go over quota.
type Preemption uint8

const (
	// PreemptionByClass leaves it to the workload's class and the policy.
	PreemptionByClass Preemption = iota
	// Preemptible may be evicted and may go over quota.
	Preemptible
	// NonPreemptible is never evicted and, where Q2 is on, never over quota.
	NonPreemptible
)

// A Workload is the unit of admission, preemption and explanation.
type Workload struct {
	// ID is unique among the workloads and not empty.
	ID string `json:"id"`
	// Pool is needed only where the workload's pool has no queues and there
	// are several pools.
	Pool string `json:"pool,omitzero"`
	// Queue is a leaf queue; empty is the implicit queue of a pool without
	// queues.
	Queue string `json:"queue,omitzero"`
	// Class names a class of the pool's policy; empty is the policy's default.
	Class string `json:"class,omitzero"`
	// Priority overrides the number of the class (but see
	// [Policy.ClassBeatsPriority]); 0 leaves it to the class.
	Priority int32 `json:"priority,omitzero"`
	// Preemption overrides the class; zero leaves it to the class.
	Preemption Preemption `json:"preemption,omitzero"`
	// Submitted is when the workload entered its queue for the first time; an
	// eviction does not change it (S5).
	Submitted time.Time `json:"submitted,omitzero"`
	// PodSets are the sets of identical tasks, at least one.
	PodSets []PodSet `json:"podSets,omitempty"`
	// Groups nest the pod sets (G3); none needs every pod set at its minimum.
	Groups []Group `json:"groups,omitempty"`
	// Topology is that of all tasks together (T2).
	Topology Topology `json:"topology,omitzero"`
	// Alternatives are further forms in order of preference (G5), after the
	// one given by Queue, PodSets and Groups.
	Alternatives []Form `json:"alternatives,omitempty"`
	// Form is the form that Tasks belong to: 0 is the workload's own, n is
	// Alternatives[n−1]. It says nothing while Tasks is empty.
	Form int `json:"form,omitzero"`
	// LeavingForm is the form of the Terminating tasks, numbered as Form is;
	// absent is Form. Where it is another, what does not leave only claims places:
	// an evicted workload waits in one form for its own to leave in another, as it
	// runs in one at a time (S5, G5). It says nothing while no task is
	// Terminating. Apply and Begin keep it; a host that has tasks leave by itself
	// that ran clears it.
	LeavingForm quota.Bound `json:"leavingForm,omitzero"`
	// Strategy overrides the policy's placement strategy; zero does not.
	Strategy placement.Strategy `json:"strategy,omitzero"`
	// Ending says that the workload ends for good: its tasks, all
	// Terminating, still hold their places, but it is neither use nor demand
	// and nothing of it starts (S5).
	Ending bool `json:"ending,omitzero"`
	// Owner is whose disruption budget the workload's tasks count for (M7);
	// empty is none.
	Owner string `json:"owner,omitzero"`
	// Checkpoint is when the workload last saved its work; what it did since,
	// or since its start if that is later, is lost when it is evicted (M3).
	Checkpoint time.Time `json:"checkpoint,omitzero"`
	// ExitActions say what follows an eviction, by exit code, before those of
	// the pool's policy (S6).
	ExitActions []ExitAction `json:"exitActions,omitempty"`
	// Retries is how many more evictions the workload may wait again after
	// (S6); absent is any number. Apply and Begin count it down.
	Retries quota.Bound `json:"retries,omitzero"`
	// PartialSince is since when the workload has run with fewer tasks than
	// its minimum (G1); zero is that it has not, or only since now. Apply and
	// Begin keep it.
	PartialSince time.Time `json:"partialSince,omitzero"`
	// Duration is how many seconds the workload is expected to run, TimeLimit after how
	// many the host ends it (B1), both of at least 1 and counted for each task from its
	// Started. Absent is what its queue or policy says; Unlimited is not known, and no
	// limit.
	Duration  quota.Bound `json:"duration,omitzero"`
	TimeLimit quota.Bound `json:"timeLimit,omitzero"`
	// MinDuration is for how many seconds the workload is content to run: where it finds no
	// place for its TimeLimit beside what is promised to others, it may start in a hole that
	// ends earlier, and is ended then (B1). 0 is that it is never cut. It is at most the
	// Duration and the TimeLimit, where it has them.
	MinDuration int64 `json:"minDuration,omitzero"`
	// FixedWork is what its tasks have to do together, in task-seconds, of which
	// WorkDone was done by tasks that have ended: it ends when the rest is done by those
	// that run, the sooner the more they are (B1). 0 is that each task runs for the Duration.
	FixedWork int64 `json:"fixedWork,omitzero"`
	WorkDone  int64 `json:"workDone,omitzero"`
	// NotBefore is the earliest start (B1); zero is any time. What runs goes on.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// WaitingSince is since when the workload waits; zero is since Submitted. Apply and
	// Begin set it where they evict. It says nothing while the workload runs (B3).
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// Deadline is until when the workload is of use (B11).
	Deadline Deadline `json:"deadline,omitzero"`
	// Reserved is what the workload has been promised (B7); nil is nothing. Apply and Begin
	// write it.
	Reserved *Promise `json:"reserved,omitempty"`
	// HeldSince is since when places are gathered for the workload (B8); zero is that none
	// are. Apply and Begin write it.
	HeldSince time.Time `json:"heldSince,omitzero"`
	// Tasks are those that hold or claim a place; every other one is pending.
	Tasks []Task `json:"tasks,omitempty"`
}

// Exit is what becomes of an evicted workload (S6).
type Exit uint8

const (
	// Reschedule lets it wait again.
	Reschedule Exit = iota
	// Fail ends it as failed.
	Fail
)

// An ExitAction says what follows an eviction that ends a workload's tasks
// with an exit code (S6).
type ExitAction struct {
	// Code is an exit code, of 32 bits and named once in its list.
	Code int `json:"code"`
	// Action is what follows it; zero is to wait again.
	Action Exit `json:"action,omitzero"`
}

// A Form is one way to run a workload (G5).
type Form struct {
	// Queue is the form's leaf queue, of any pool; empty is the workload's.
	Queue string `json:"queue,omitzero"`
	// PodSets and Groups are as those of a [Workload].
	PodSets []PodSet `json:"podSets,omitempty"`
	Groups  []Group  `json:"groups,omitempty"`
	// Topology is that of all tasks of the form (T2).
	Topology Topology `json:"topology,omitzero"`
}

// A PodSet is a number of identical tasks.
type PodSet struct {
	// Name is unique among the form's pod sets and groups; it may be empty
	// where the form has one pod set.
	Name string `json:"name,omitzero"`
	// Count is how many tasks the set has at most; it must be positive. All
	// workloads have at most 2^24 tasks together.
	Count int `json:"count"`
	// Min is how many must run together (G1); 0 is all of them. Tasks above
	// it are elastic (G2).
	Min int `json:"min,omitzero"`
	// Step is how the set goes from Min to Count and back (L1); zero is by one
	// task. A set of another step is the form's only one and in no group.
	Step gang.Step `json:"step,omitzero"`
	// Missing is how many of Count, the last by index, are not submitted yet.
	// While fewer than Min are there, the workload waits (G1).
	Missing int `json:"missing,omitzero"`
	// Group names the group that the set belongs to; empty is the workload.
	Group string `json:"group,omitzero"`
	// Topology is that of the set's tasks (T2), within those of its groups and of
	// the workload.
	Topology Topology `json:"topology,omitzero"`
	// Request is what each task asks.
	Request Request `json:"request,omitzero"`
}

// A Group holds pod sets and groups of which a number must run (G3).
type Group struct {
	// Name is unique among the form's pod sets and groups and not empty.
	Name string `json:"name"`
	// Parent is the group around it; empty is the workload.
	Parent string `json:"parent,omitzero"`
	// Min is how many of its children must be at their minimum; 0 is all.
	Min int `json:"min,omitzero"`
	// Topology is that of all tasks inside (T2).
	Topology Topology `json:"topology,omitzero"`
}

// A Request is what one task asks of one node (P1). The zero Request asks
// nothing but a place.
type Request struct {
	// GPU asks for devices; zero asks for none.
	GPU GPURequest `json:"gpu,omitzero"`
	// Resources are amounts of everything but GPU, in each resource's unit.
	Resources map[string]int64 `json:"resources,omitempty"`
	// Selector must match the node's labels; the zero Selector always does.
	Selector placement.Selector `json:"selector,omitzero"`
	// Tolerations let the task onto tainted nodes.
	Tolerations []placement.Toleration `json:"tolerations,omitempty"`
}

// A GPURequest asks for devices (P2): Count whole ones, or the same fraction
// (Milli) or the same memory (Memory) of each of Count. All devices of one
// task are of one model. Partitions of a device that the host makes beforehand
// (MIG profiles) are resources of the node, such as "mig-1g.10gb".
type GPURequest struct {
	// Count is the number of devices; 0 is none, or 1 where Milli or Memory
	// is given.
	Count int `json:"count,omitzero"`
	// Milli is the fraction of each device, 1 to 1000; 0 and 1000 are the
	// whole device.
	Milli int64 `json:"milli,omitzero"`
	// Memory is the device memory in bytes of each device, instead of Milli.
	Memory int64 `json:"memory,omitzero"`
	// Models are the accepted ones; empty accepts any.
	Models []string `json:"models,omitempty"`
	// MinMemory is the least total memory of an accepted device, in bytes.
	MinMemory int64 `json:"minMemory,omitzero"`
	// Island is the island in which all devices of a task must be (T4); zero is
	// any. PreferIsland is the island in which they should be if some node has
	// such a place; zero takes the tightest that the node of choice has.
	Island       placement.Island `json:"island,omitzero"`
	PreferIsland placement.Island `json:"preferIsland,omitzero"`
}

// Phase is where a task stands in its life (S4).
type Phase uint8

const (
	// Running holds its place.
	Running Phase = iota
	// Claimed was given a place where others are still leaving. While a
	// workload has claims it starts nothing but them.
	Claimed
	// Terminating is leaving and still holds its place; unless the workload
	// is Ending, or has no Alternatives and the index is beyond Count, it waits
	// again (S5), and until it is gone its workload starts nothing; but it may
	// claim places, of the same task too, which is then listed twice.
	Terminating
)

// A Task is one task that holds or claims a place. A task that moves (M4) is
// listed twice: Terminating at the old place and Claimed at the new one.
type Task struct {
	// PodSet names the pod set.
	PodSet string `json:"podSet,omitzero"`
	// Index is from 0 to the pod set's Count−1; Terminating tasks may have a
	// higher one (the set has been made smaller).
	Index int `json:"index,omitzero"`
	// Phase is where the task stands; zero is Running.
	Phase Phase `json:"phase,omitzero"`
	// Node is the node of its place, Devices are the indices of its devices there;
	// empty is a task without GPUs.
	Node    string `json:"node"`
	Devices []int  `json:"devices,omitempty"`
	// Since is when the task was given its place, by a start or a claim; a move
	// keeps it (R8). Zero is the earliest.
	Since time.Time `json:"since,omitzero"`
	// Started is when the task began to run, from which its predicted end counts (B1); a
	// move keeps it. Zero is Since, which is earlier where the task had claimed its place.
	Started time.Time `json:"started,omitzero"`
	// Until is when the host ends the task, of a workload that was cut to fit a hole (B1), if
	// its TimeLimit does not end it before; zero is that nothing else does. Apply and Begin
	// write it, and a move keeps it.
	Until time.Time `json:"until,omitzero"`
	// Behind names the workload whose promised place the task has taken without having left it
	// by then: when that workload can start there, the task goes for it (B6), unless the task is
	// within the entitlement of its queue, that workload is not, and the task would have its place
	// back at once (M5). Empty is none. Apply and Begin write it, and clear it when the promise
	// does not hold the place any more.
	Behind string `json:"behind,omitzero"`
}

// NodeLevel is the name of the narrowest level: every node is a domain of it. It
// is always there and listed nowhere.
const NodeLevel = "node"

// A Level is a named level of the cluster's topology (T1).
type Level struct {
	// Name is unique among the levels, not empty and not [NodeLevel].
	Name string `json:"name"`
}

// A Topology says how near to each other tasks run (T2, T3). The zero Topology
// lets them run anywhere. Levels are named as in [State.Levels], or [NodeLevel].
//
// What runs counts: tasks that start later, or again, join those that run or are
// claimed, in the domain in which those are (T6).
type Topology struct {
	// Required is the level of which one domain holds all tasks; empty asks for
	// no common domain.
	Required string `json:"required,omitzero"`
	// Preferred is the level of which one domain should hold all tasks, no
	// wider than Required. If none can, the next wider level is tried, up to
	// Required or the whole cluster; inside the domain that is found Mode says
	// how the tasks use the domains of this level. Empty is Required.
	Preferred string `json:"preferred,omitzero"`
	// Mode is how tasks are parted among the domains of the preferred level; zero
	// packs them into the fewest.
	Mode gang.Mode `json:"mode,omitzero"`
	// Slices are of a pod set only, the widest first: of every Size consecutive
	// tasks all run in one domain of Level. Each Level is no wider than the
	// preferred and narrower than the one before; each Size divides the one
	// before, the first divides Count and Min.
	Slices []Slice `json:"slices,omitempty"`
}

// A Slice is a number of consecutive tasks that share a domain (T3).
type Slice struct {
	// Size is how many tasks; it must be positive.
	Size int `json:"size"`
	// Level is the level of the domain that they share.
	Level string `json:"level"`
}

// A Link is how many NVLinks join two devices of a node. It overrides what the
// node's Hardware says of them: 0 is a pair whose links are down.
type Link struct {
	// A and B are indices of two different devices; each pair is named once.
	A int `json:"a"`
	B int `json:"b"`
	// NVLinks is the number of links, 0 to [placement.MaxNVLinks].
	NVLinks int `json:"nvlinks,omitzero"`
}
