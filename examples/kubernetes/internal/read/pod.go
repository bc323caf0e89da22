package read

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/placement"
)

// Request reads what a pod asks of its node. The claims are those that it names, as far as
// they are there.
func (t *Terms) Request(o *corev1.Pod, claims []*resourcev1.ResourceClaim) (allot.Request, error) {
	var wrong Unsaid
	r := t.Use(o, &wrong)
	t.claimed(o, claims, &r, &wrong)
	r.Selector.Labels = o.Spec.NodeSelector
	for _, a := range o.Spec.Tolerations {
		toleration := placement.Toleration{Key: a.Key, Value: a.Value}
		switch a.Operator {
		case corev1.TolerationOpExists:
			toleration.Operator, toleration.Value = placement.TolerationExists, ""
		case corev1.TolerationOpEqual, "":
		default:
			wrong.add("a toleration by %s", a.Operator)
			continue
		}
		if toleration.Effect.UnmarshalText([]byte(a.Effect)) != nil || len(toleration.Validate()) > 0 {
			wrong.add("a toleration of %s %s", a.Key, a.Effect)
			continue
		}
		r.Tolerations = append(r.Tolerations, toleration)
	}
	affinity(o.Spec.Affinity, &r.Selector, &wrong)
	others(o, &wrong)
	if o.Annotations[v1alpha1.IgnoreUnsaid] == "true" {
		return r, nil
	}
	return r, wrong.orNil()
}

// Use is what a pod takes of its node whoever has placed it there.
func (t *Terms) Use(o *corev1.Pod, wrong *Unsaid) (r allot.Request) {
	amounts, gpus := t.amounts(resourcehelper.PodRequests(o, resourcehelper.PodResourcesOptions{}), wrong)
	r.Resources, r.GPU.Count = amounts, gpus
	return r
}

// affinity reads what of affinities is required. Several terms are alternatives, for which a
// selector has no words.
func affinity(a *corev1.Affinity, into *placement.Selector, wrong *Unsaid) {
	switch {
	case a == nil:
		return
	case a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		wrong.add("a required affinity to pods")
	case a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		wrong.add("a required anti-affinity to pods")
	}
	if a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) > 0 {
		wrong.add("a node affinity of several terms, or by fields")
		return
	}
	for _, e := range terms[0].MatchExpressions {
		expression := placement.Expression{Key: e.Key, Values: e.Values}
		if expression.Operator.UnmarshalText([]byte(e.Operator)) != nil {
			wrong.add("a node affinity by %s", e.Operator)
			continue
		}
		into.Expressions = append(into.Expressions, expression)
	}
}

// others notes what else a pod may ask for that a node has to have.
func others(o *corev1.Pod, wrong *Unsaid) {
	for _, c := range o.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			wrong.add("a topology spread that must hold")
		}
	}
	for i := range o.Spec.Volumes {
		if o.Spec.Volumes[i].PersistentVolumeClaim != nil || o.Spec.Volumes[i].Ephemeral != nil {
			wrong.add("on which nodes the volume %s can be", o.Spec.Volumes[i].Name)
		}
	}
	for _, c := range slices.Concat(o.Spec.InitContainers, o.Spec.Containers) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				wrong.add("host port %d", p.HostPort)
			}
		}
	}
}

// ClaimNames are the ResourceClaims that a pod names; false where one is not made yet.
func ClaimNames(o *corev1.Pod) (names []string, complete bool) {
	complete = true
	for i := range o.Spec.ResourceClaims {
		c := &o.Spec.ResourceClaims[i]
		name := c.ResourceClaimName
		for _, s := range o.Status.ResourceClaimStatuses {
			if s.Name == c.Name && name == nil {
				name = s.ResourceClaimName
			}
		}
		if name == nil {
			complete = false
			continue
		}
		names = append(names, *name)
	}
	return names, complete
}

// claimed adds the GPUs that a pod claims. Claims for other things, shared ones, and those
// that choose devices by expressions are not said.
func (t *Terms) claimed(o *corev1.Pod, claims []*resourcev1.ResourceClaim, r *allot.Request, wrong *Unsaid) {
	if len(claims) < len(o.Spec.ResourceClaims) {
		wrong.add("a ResourceClaim that is not there")
	}
	for _, c := range claims {
		for _, consumer := range c.Status.ReservedFor {
			if consumer.UID != o.UID {
				wrong.add("ResourceClaim %s, which %s %s has too", c.Name, consumer.Resource, consumer.Name)
			}
		}
		if len(c.Spec.Devices.Constraints) > 0 {
			wrong.add("the constraints of ResourceClaim %s", c.Name)
		}
		for i := range c.Spec.Devices.Requests {
			n, ok := t.devicesOf(&c.Spec.Devices.Requests[i])
			if !ok {
				wrong.add("request %s of ResourceClaim %s: it must ask for a number of class %s, without selectors",
					c.Spec.Devices.Requests[i].Name, c.Name, t.DeviceClass)
			}
			r.GPU.Count += n
		}
	}
	if len(claims) > 0 && r.GPU.Count > maxDevices {
		wrong.add("%d GPUs on one node, more than %d", r.GPU.Count, maxDevices)
		r.GPU.Count = 0
	}
}

// devicesOf is how many GPUs a request of a claim is for.
func (t *Terms) devicesOf(r *resourcev1.DeviceRequest) (int, bool) {
	e := r.Exactly
	if e == nil || e.DeviceClassName != t.DeviceClass || len(e.Selectors) > 0 || e.AdminAccess != nil && *e.AdminAccess ||
		e.AllocationMode != resourcev1.DeviceAllocationModeExactCount && e.AllocationMode != "" {
		return 0, false
	}
	return int(min(max(e.Count, 1), maxDevices+1)), true
}
