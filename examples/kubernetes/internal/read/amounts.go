package read

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// Terms are what a cluster calls things.
type Terms struct {
	// GPU is the extended resource that counts GPUs.
	GPU string
	// Driver is the DRA driver whose devices are GPUs, DeviceClass the class by which
	// claims ask for them.
	Driver, DeviceClass string
	// Levels are the label keys of topology levels, the widest first.
	Levels []string
}

// An Unsaid is an object that Allot has no words for.
type Unsaid struct {
	// What it asks for, each in some words.
	What []string
}

func (e *Unsaid) Error() string { return "Allot cannot say " + strings.Join(e.What, "; ") }

// add notes one more thing.
func (e *Unsaid) add(format string, args ...any) {
	e.What = append(e.What, fmt.Sprintf(format, args...))
}

// orNil is the error, if there is any.
func (e *Unsaid) orNil() error {
	if len(e.What) == 0 {
		return nil
	}
	slices.Sort(e.What)
	e.What = slices.Compact(e.What)
	return e
}

// isCounted says whether a resource is one of which pods have amounts: places for pods are
// counted otherwise, and volumes are the kubelet's to count.
func isCounted(name corev1.ResourceName) bool {
	return name != corev1.ResourcePods && !strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// amount is a quantity in Allot's unit, and whether it is in range.
func amount(name corev1.ResourceName, q resource.Quantity) (int64, bool) {
	n := q.Value()
	if name == corev1.ResourceCPU {
		n = q.MilliValue()
	}
	return n, n >= 0 && n <= allot.MaxAmount
}

// amounts are all resources but GPUs, and how many GPUs.
func (t *Terms) amounts(list corev1.ResourceList, wrong *Unsaid) (amounts map[string]int64, gpus int) {
	for name, q := range list { // each by itself: order cannot matter
		if !isCounted(name) || q.IsZero() {
			continue
		}
		n, ok := amount(name, q)
		switch {
		case !ok:
			wrong.add("an amount of %s %s", q.String(), name)
		case string(name) == t.GPU && n > maxDevices:
			wrong.add("%d GPUs on one node, more than %d", n, maxDevices)
		case string(name) == t.GPU:
			gpus = int(n)
		default:
			if amounts == nil {
				amounts = make(map[string]int64, len(list))
			}
			amounts[string(name)] = n
		}
	}
	return amounts, gpus
}

// resourceName is Allot's name of a resource.
func (t *Terms) resourceName(name string) string {
	if name == t.GPU {
		return allot.GPU
	}
	return name
}

// bound is a quantity of a queue; nil is absent. GPUs may be parts of one.
func (t *Terms) bound(name string, q *resource.Quantity, wrong *Unsaid) quota.Bound {
	if q == nil {
		return quota.Bound{}
	}
	n, ok := amount(corev1.ResourceName(name), *q)
	if name == t.GPU {
		n = q.MilliValue()
		ok = n >= 0 && n <= allot.MaxAmount
	}
	if !ok {
		wrong.add("%s of %s", q.String(), name)
		return quota.Bound{}
	}
	return quota.Of(n)
}

// Quantity writes an amount of Allot's in the words of Kubernetes.
func (t *Terms) Quantity(name string, n int64) string {
	switch name {
	case allot.GPU, allot.CPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case allot.Memory:
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}

// ResourceName is Kubernetes' name of a resource of Allot's.
func (t *Terms) ResourceName(name string) string {
	if name == allot.GPU {
		return t.GPU
	}
	return name
}
