// Package v1alpha1 has the two kinds of object by which a cluster tells Allot what is not
// part of Kubernetes: queues with quotas, and pools of nodes under a policy. Both are of the
// cluster, and their status says what became of them.
//
// +kubebuilder:object:generate=true
// +groupName=allotsched.github.io
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group, and the prefix of labels and annotations.
const Group = "allotsched.github.io"

// Labels and annotations of pods and PodGroups. What a PodGroup says holds for its pods.
const (
	// QueueLabel names the queue of a pod or PodGroup.
	QueueLabel = Group + "/queue"
	// ClassLabel names a class of the pool's policy; without it the priority class of
	// Kubernetes does, if the policy has one of that name.
	ClassLabel = Group + "/class"
	// PreemptibleLabel says "true" or "false"; without it the class does.
	PreemptibleLabel = Group + "/preemptible"
	// PreferredTopology annotates a PodGroup with the label key of the level of which one
	// domain should hold all pods.
	PreferredTopology = Group + "/preferred-topology"
	// Duration annotates a PodGroup, or a pod without one, with how long its pods are
	// expected to work, such as 1h30m: for policies that promise places. When the kubelet
	// ends them (activeDeadlineSeconds) is their limit.
	Duration = Group + "/duration"
	// IgnoreUnsaid annotates a pod with "true": what its owner asks for and Allot cannot
	// say is ignored, where the pod would be refused.
	IgnoreUnsaid = Group + "/ignore-unsaid"
	// EvictedFor annotates a pod that is evicted with the workload that gets its place, and
	// why.
	EvictedFor = Group + "/evicted-for"
)

// GroupVersion is what objects say.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme makes the kinds known to a client.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Queue{}, &QueueList{}, &Pool{}, &PoolList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// A Queue holds quota; pods name it by a label.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=allot
// +kubebuilder:printcolumn:name="Parent",type=string,JSONPath=`.spec.parent`
// +kubebuilder:printcolumn:name="GPUs used",type=string,JSONPath=`.status.shares[?(@.resource=="nvidia.com/gpu")].used`
// +kubebuilder:printcolumn:name="Quota",type=string,JSONPath=`.status.shares[?(@.resource=="nvidia.com/gpu")].quota`
// +kubebuilder:printcolumn:name="Fair share",type=string,JSONPath=`.status.shares[?(@.resource=="nvidia.com/gpu")].fairShare`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.waiting`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
type Queue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   QueueSpec   `json:"spec,omitempty"`
	Status QueueStatus `json:"status,omitempty"`
}

// QueueSpec is what a queue is given.
type QueueSpec struct {
	// Parent is a queue of the same pool; empty stands directly in the pool.
	Parent string `json:"parent,omitempty"`
	// Pool may be left empty where there is one pool at most.
	Pool string `json:"pool,omitempty"`
	// Resources are the settings per resource.
	// +listType=atomic
	Resources []QueueResource `json:"resources,omitempty"`
	// MaxWorkloads caps the workloads that run at once in the queue and below.
	// +kubebuilder:validation:Minimum=0
	MaxWorkloads *int64 `json:"maxWorkloads,omitempty"`
	// MinRuntimeSeconds protects what runs for that long from preemption and from reclaim.
	// +kubebuilder:validation:Minimum=0
	MinRuntimeSeconds *int64 `json:"minRuntimeSeconds,omitempty"`
}

// QueueResource is what a queue is given of one resource. What is absent is as in Allot:
// no quota, no limit.
type QueueResource struct {
	// Name is that of Kubernetes, such as nvidia.com/gpu or cpu.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Class narrows the entry to GPUs of a model.
	Class string `json:"class,omitempty"`
	// Quota is guaranteed.
	Quota *resource.Quantity `json:"quota,omitempty"`
	// Limit is the hard cap.
	Limit *resource.Quantity `json:"limit,omitempty"`
	// BorrowingLimit caps use beyond the quota.
	BorrowingLimit *resource.Quantity `json:"borrowingLimit,omitempty"`
	// LendingLimit is what others may take of the unused quota.
	LendingLimit *resource.Quantity `json:"lendingLimit,omitempty"`
	// Weight is the queue's part of the surplus.
	// +kubebuilder:validation:Minimum=0
	Weight *int64 `json:"weight,omitempty"`
	// OverQuotaPriority is the tier of surplus: a higher one is served first.
	OverQuotaPriority int32 `json:"overQuotaPriority,omitempty"`
}

// QueueStatus is how a queue stands, as of some seconds ago.
type QueueStatus struct {
	// ObservedGeneration is that of the spec that the conditions are about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions have Accepted, with the fault where it is False.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Shares are figures per resource.
	// +listType=atomic
	Shares []QueueShare `json:"shares,omitempty"`
	// Waiting is how many workloads wait, Reasons why, the most frequent first.
	// +optional
	Waiting int64 `json:"waiting"`
	// +listType=atomic
	Reasons []QueueReason `json:"reasons,omitempty"`
}

// QueueReason is how many workloads wait first of all for one reason.
type QueueReason struct {
	// Reason is Allot's code, such as over-quota.
	Reason string `json:"reason"`
	// Waiting is how many.
	Waiting int64 `json:"waiting"`
}

// QueueShare are the figures of one resource.
type QueueShare struct {
	Resource  string `json:"resource"`
	Quota     string `json:"quota,omitempty"`
	Limit     string `json:"limit,omitempty"`
	Used      string `json:"used,omitempty"`
	Demand    string `json:"demand,omitempty"`
	FairShare string `json:"fairShare,omitempty"`
	State     string `json:"state,omitempty"`
}

// QueueList is a list of queues.
//
// +kubebuilder:object:root=true
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Queue `json:"items"`
}

// A Pool is a set of nodes under one policy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=allot
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
type Pool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PoolSpec   `json:"spec,omitempty"`
	Status PoolStatus `json:"status,omitempty"`
}

// PoolSpec says which nodes, and how they are scheduled.
type PoolSpec struct {
	// NodeSelector is by the labels of nodes; absent is all of them.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// Policy is a preset.
	// +kubebuilder:validation:Enum=osmo;runai;runai20;determined-fair-share;determined-priority
	// +kubebuilder:default=runai
	Policy string `json:"policy,omitempty"`
	// Knobs override those of the preset, in the JSON of Allot's Policy.
	// +kubebuilder:pruning:PreserveUnknownFields
	Knobs *runtime.RawExtension `json:"knobs,omitempty"`
}

// PoolStatus is how a pool stands.
type PoolStatus struct {
	// ObservedGeneration is that of the spec that the conditions are about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions have Accepted, with the fault where it is False.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Nodes is how many nodes the pool has.
	// +optional
	Nodes int64 `json:"nodes"`
}

// PoolList is a list of pools.
//
// +kubebuilder:object:root=true
type PoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Pool `json:"items"`
}
