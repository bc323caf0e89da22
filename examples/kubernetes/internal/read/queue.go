package read

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Queue reads a queue.
func (t *Terms) Queue(o *v1alpha1.Queue) (allot.Queue, error) {
	var wrong Unsaid
	q := allot.Queue{ID: o.Name, Pool: o.Spec.Pool, Parent: o.Spec.Parent, Created: o.CreationTimestamp.UTC()}
	for _, r := range o.Spec.Resources {
		given := allot.QueueResource{
			Resource: t.resourceName(r.Name), Class: r.Class, OverQuotaPriority: r.OverQuotaPriority,
			Quota: t.bound(r.Name, r.Quota, &wrong), Limit: t.bound(r.Name, r.Limit, &wrong),
			BorrowingLimit: t.bound(r.Name, r.BorrowingLimit, &wrong), LendingLimit: t.bound(r.Name, r.LendingLimit, &wrong),
		}
		if r.Weight != nil {
			given.Weight = quota.Of(*r.Weight)
		}
		q.Resources = append(q.Resources, given)
	}
	if o.Spec.MaxWorkloads != nil {
		q.MaxWorkloads = quota.Of(*o.Spec.MaxWorkloads)
	}
	if s := o.Spec.MinRuntimeSeconds; s != nil {
		q.MinRuntime = allot.MinRuntime{Preempt: quota.Of(*s), Reclaim: quota.Of(*s)}
	}
	return q, wrong.orNil()
}

// presets are the policies that a pool may name.
var presets = map[string]func() allot.Policy{
	"":                      allot.RunAI,
	"runai":                 allot.RunAI,
	"runai20":               allot.RunAI20,
	"osmo":                  allot.OSMO,
	"determined-fair-share": allot.DeterminedFairShare,
	"determined-priority":   allot.DeterminedPriority,
}

// Pool reads a pool. A pod stays where it is bound, and to give it another place is to end it
// and to have its controller make another: so nothing is moved for the sake of order. A gang
// of which only a part runs is completed or, after the grace, taken back; the knobs may give
// another grace.
func (t *Terms) Pool(o *v1alpha1.Pool, grace time.Duration) (allot.Pool, error) {
	preset, ok := presets[o.Spec.Policy]
	if !ok {
		return allot.Pool{}, fmt.Errorf("no policy %q", o.Spec.Policy)
	}
	p := allot.Pool{ID: o.Name, Policy: preset()}
	if o.Spec.NodeSelector != nil {
		s, err := selector(o.Spec.NodeSelector)
		if err != nil {
			return p, err
		}
		p.Nodes.Selector = &s
	}
	p.Policy.StaleGangGrace = quota.Of(int64(grace / time.Second))
	if k := o.Spec.Knobs; k != nil && len(k.Raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(k.Raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&p.Policy); err != nil {
			return p, fmt.Errorf("knobs: %w", err)
		}
	}
	p.Policy.NoConsolidation = true
	return p, nil
}

// DefaultPool is the pool of a cluster that has none: all nodes under Run:ai's policy.
func (t *Terms) DefaultPool(grace time.Duration) allot.Pool {
	p, _ := t.Pool(&v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, grace) // which has no faults
	return p
}

// selector reads a selector of labels.
func selector(s *metav1.LabelSelector) (placement.Selector, error) {
	out := placement.Selector{Labels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		expression := placement.Expression{Key: e.Key, Values: e.Values}
		if err := expression.Operator.UnmarshalText([]byte(e.Operator)); err != nil {
			return out, err
		}
		out.Expressions = append(out.Expressions, expression)
	}
	return out, nil
}
