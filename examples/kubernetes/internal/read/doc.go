// Package read says objects of Kubernetes in the nouns of Allot: a node is a Node, what a pod
// asks for a Request, Queues and Pools are themselves. It is plain functions from one object
// to one noun. Who is where, what waits and what has been asked for is package mirror's.
//
// # What cannot be said
//
// An object that asks for what Allot has no words for is an [Unsaid] error with all of it. It
// is the caller's to refuse the object and to go on with all others. A pod whose owner
// annotates it so ([v1alpha1.IgnoreUnsaid]) is read without.
//
// A preference is no demand: preferred affinities, PreferNoSchedule taints' weights and
// ScheduleAnyway spreads are passed over.
//
// # Units
//
// CPU is in thousandths of cores, everything else in Kubernetes' own units; GPUs are the
// devices of one extended resource ([Terms.GPU]), or those that a driver lists in
// ResourceSlices.
package read
