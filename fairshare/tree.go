package fairshare

// A Queue is one node of the tree that [DivideTree] divides, for one
// resource. All amounts are in the resource's unit and ≥ 0.
type Queue struct {
	// Parent is the index of the parent queue, −1 at the top level. Parents
	// may stand before or after their children.
	Parent int32
	// Quota is the guaranteed amount after Q1's defaults; [Unlimited] is no
	// bound, 0 is a real 0.
	Quota int64
	// Limit is the hard cap with the borrowing limit in it,
	// min(limit, quota + borrowing limit); [Unlimited] is none, 0 is a real 0.
	Limit int64
	// Weight, Tier and Created are those of [Claim].
	Weight  int64
	Tier    int32
	Created int64
	// Keep is the part of the quota that is never lent (Q5). At an inner
	// queue what its children keep counts too, the larger of the two.
	Keep int64
	// OutOfReach is the part of the tree's capacity on nodes that the queue may not use, of
	// an inner queue none below it: requestable is at most the rest (F1). 0 is none of it.
	OutOfReach int64
	// Demand is what the workloads ask; only leaves have any.
	Demand Demand
	// Usage is what the queue has used, which changes its weight (F6).
	Usage Usage
}

// A Demand is what the workloads of a leaf queue ask, running and waiting
// (F1).
type Demand struct {
	// Preemptible and NonPreemptible are running and waiting demand by kind.
	Preemptible    int64
	NonPreemptible int64
	// RunningNonPreemptible is the part of NonPreemptible that runs; what runs
	// counts as demand even where NonPreemptible is less. ByDemand and MaxMin,
	// which know no quotas, do not read it.
	RunningNonPreemptible int64
	// Unit is what all that is asked comes in: the greatest common divisor of what
	// the work asks of a device at a time, say. The granules of the groups above
	// follow it (F5, [Granules]). 0 is whole granules.
	Unit int64
}

// A TreeConfig is one pool's tree of queues for one resource.
type TreeConfig struct {
	// Capacity is what the top-level queues divide (F1); negative is 0.
	Capacity int64
	Queues   []Queue
	// Method is how each sibling group divides.
	Method Method
	Options
	// NonPreemptibleOverQuota says that Q2 is off: non-preemptible demand is
	// then requestable beyond the quota.
	NonPreemptibleOverQuota bool
	// ScaleGuarantees says that the top level divides its quota parts too, by quota, where
	// they exceed the capacity (F13). Else they stand there.
	ScaleGuarantees bool
	// UsageStrengthMilli is how much what queues have used changes their weights (F6): k in
	// thousandths; 0 does not.
	UsageStrengthMilli int64
}

// A Share is what [DivideTree] found for one queue.
type Share struct {
	// Demand is what the queue and those below it ask, uncapped.
	Demand int64
	// Requestable is the most of it that limits, quotas and nodes let it use (F1).
	Requestable int64
	// QuotaPart is what it gets before any surplus is divided (F2): the smaller of quota and
	// Requestable, or what is left of it where there is not enough.
	QuotaPart int64
	// Guaranteed is what of its quota it may defend, LQ (R8): the smaller of quota and
	// Requestable, or what is left of it where the queue above, or with
	// [TreeConfig.ScaleGuarantees] the capacity, has not enough for all. 0 under the methods
	// that know no quota.
	Guaranteed int64
	// FairShare is the quota part and the surplus part together.
	FairShare int64
	// WeightMilli is the queue's weight over those of all siblings of its tier, and
	// AdjustedMilli what usage makes of it, both in thousandths, rounded down (F6); 0 where
	// no history is known.
	WeightMilli, AdjustedMilli int64
}
