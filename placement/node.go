package placement

import (
	"math"

	"github.com/allotsched/allot/quota"
)

const (
	// MaxDevices is the most devices that a node may have: a [Place] names
	// them by the bits of one word.
	MaxDevices = 64
	// MaxMemory is the largest device memory, in bytes (2^53−1): a thousand
	// times it, a device in share units, still is an int64.
	MaxMemory = 1<<53 - 1
	// NoCap, as a node's Slots or CPUOnlySlots, is no cap.
	NoCap = math.MaxInt32
)

// A Device is one GPU of a node. The zero Device is a healthy one of model 0
// and unknown memory.
type Device struct {
	// Model is a number of the caller's.
	Model int32
	// Memory is in bytes; 0 is unknown, and no request for device memory fits.
	Memory int64
	// Unhealthy devices are no capacity; what runs there is left alone.
	Unhealthy bool
	// Foreign is what others use of the device, in milli, 0 to 1000 (S8).
	Foreign int64
	// Socket and Switch are the NUMA socket and the PCIe switch that the device
	// hangs on, numbered from 1 within the node; 0 is not known, and two unknown
	// ones are not the same (T1).
	Socket, Switch int32
}

// A Link is the NVLinks that join two devices of a node, directly or by an
// NVSwitch.
type Link struct {
	// A and B are the devices, two different ones in either order.
	A, B int32
	// NVLinks is their number, 0 to [MaxNVLinks]; 0 is a pair that none joins.
	NVLinks int32
}

// A Node is one machine as the caller describes it to [NewIndex].
type Node struct {
	// Capacity is by the caller's resource index, less foreign use (S8); it
	// may be zero or negative, and then nothing that asks for the resource
	// fits. GPUs are no resource here: Devices are they.
	Capacity []int64
	// Devices are at most MaxDevices.
	Devices []Device
	// Links are the NVLinks between them (T4), in any order; a pair that is not
	// listed has none, and none is listed twice. See [Hardware.Links].
	Links []Link
	// Slots are the tasks that the node may hold (P1), less foreign ones; NoCap
	// is no cap, zero or less is none.
	Slots int32
	// CPUOnlySlots are the tasks without devices that it may hold (P7); NoCap
	// is no cap, zero or less is none.
	CPUOnlySlots int32
	// Class is a number of the caller's (Q8).
	Class int32
	// Sets are the node sets, numbers of the caller's, that the node belongs
	// to, ascending: a queue that may use part of the pool names one.
	Sets []int32
	// Parts are sets that devices of the node belong to, and the node does not, ascending by
	// set: what is closed to a task may be a part of a node (see [Request.Closed]).
	Parts  []Part
	Labels map[string]string
	Taints []Taint
	// Cordoned nodes take nothing new and are in no total.
	Cordoned bool
}

// A Part is the devices of a node, bit i for device i, that belong to a set.
type Part struct {
	Set     int32
	Devices uint64
}

// A Request is what one task asks of one node (P1, P2). The zero Request, with
// Set -1, asks nothing but a place.
//
// A request that makes no sense (a negative count, more than 1000 milli, an island
// or a resource that there is not) is a request that nothing fits.
type Request struct {
	// Devices is the number of devices, all of one model; 0 is a CPU-only
	// task.
	Devices int32
	// Milli is the fraction of each device, 1 to 1000; 1000, and 0, are the
	// whole device.
	Milli int64
	// Memory is the device memory of each device in bytes, instead of Milli; 0
	// leaves it to Milli.
	Memory int64
	// MinMemory is the least total memory of an accepted device, in bytes.
	MinMemory int64
	// Models are the accepted ones; nil is any.
	Models []int32
	// Island is the island in which all devices of the task must be (T4), and
	// PreferIsland a tighter one in which they are to be if any node has such a
	// place now. The zero value is the whole node. For a task of one device, or
	// none, both say nothing.
	Island, PreferIsland Island
	// Classes are the accepted classes of nodes (Q8); nil is any.
	Classes []int32
	// Set is the node set to stay in; -1 is all nodes.
	Set int32
	// Closed are sets of nodes and of devices that the task may not use, whatever else lets
	// it (B9); nil is none.
	Closed []int32
	// Amounts are what the task asks of the node's resources.
	Amounts quota.Amounts
	// Selector must match the node's labels; nil does.
	Selector *Selector
	// Tolerations are compared with the node's taints.
	Tolerations []Toleration
}

// A Shape names a Request inside one Index: equal requests have equal shapes.
type Shape int32

// A Place is where a task stands: a node, by its position, and the devices,
// bit i for device i. A CPU-only task has no device.
type Place struct {
	Node    int32
	Devices uint64
	// Pipelined: the place is not free now, and is once all that is releasing has
	// left (S4). To take it is to claim it.
	Pipelined bool
}

// Free is what is free in all, summed over nodes that are not cordoned. Each
// sum counts positive amounts only (the over-use of one node is not made good
// by another) and stops at the largest int64.
type Free struct {
	// Amounts is by resource index.
	Amounts []int64
	// Milli is of the healthy devices, each rounded down.
	Milli int64
}

// A Count is a number of nodes that one predicate turned away.
type Count struct {
	Predicate Predicate
	// Resource is the resource for Capacity and Resources, -1 otherwise.
	Resource int32
	Nodes    int
}

// A Miss is one node that does not take a task: the first predicate that fails
// there, with what the node has and what the task needs. Resources are in
// their unit, DeviceMemory in bytes, Model, DeviceCount, IslandSize,
// FreeDevices, Fragmented and FreeIsland in devices, slots in tasks; the others have
// 0 of 1.
type Miss struct {
	// Node is -1 where there is no such node.
	Node      int32
	Predicate Predicate
	// Resource is the resource for Capacity and Resources, -1 otherwise.
	Resource   int32
	Have, Need int64
}

// A Rejection says why nodes do not take a task now (X1). Its slices may be
// given out again: do not write to them.
type Rejection struct {
	// Counts holds the nodes by the first predicate that fails, in the order
	// of the predicates, then of the resources. Nodes that would take the task
	// are not in it.
	Counts []Count
	// Ever says that some node would take one such task were it empty.
	Ever bool
	// Nearest is the node that lacks least: the latest failing predicate, then
	// the smallest part missing of what is needed, then the lowest position.
	Nearest Miss
	// Free is what is free in all in the request's node set.
	Free Free
}
