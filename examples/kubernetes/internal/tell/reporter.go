package tell

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

// A News is a decision and the objects that it is about.
type News struct {
	Decision *allot.Decision
	View     *mirror.View
}

// A Reporter tells news. Its fields are set before it is used.
type Reporter struct {
	Client client.Client
	Events events.EventRecorder
	Terms  read.Terms
	Log    *slog.Logger
	// Period is between two rounds, Refresh how old what was told may be while only numbers
	// are otherwise, Figures the same of the status of queues and pools, Most how many objects
	// a round writes.
	Period, Refresh, Figures time.Duration
	Most                     int
	// Mute counts, for metrics, and writes nothing.
	Mute bool

	newest atomic.Pointer[News]
	told   map[string]telling
}

// A telling is what an object was told, and when.
type telling struct {
	kind, text string
	at         time.Time
}

// Publish has news told. What was not told yet is told no more.
func (r *Reporter) Publish(n *News) { r.newest.Store(n) }

// Newest is what was last published; nil is nothing.
func (r *Reporter) Newest() *News { return r.newest.Load() }

// Run tells until the context ends.
func (r *Reporter) Run(ctx context.Context) {
	r.told = make(map[string]telling)
	var last *News
	behind := false
	tick := time.NewTicker(r.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n := r.Newest()
		if n == nil || n == last && !behind {
			continue
		}
		last = n
		behind = r.round(ctx, n)
	}
}

// A statement is what one object is to be told.
type statement struct {
	key        string
	kind, text string
	figures    bool // it is a status
	write      func(ctx context.Context) error
}

// round tells what is otherwise, and says whether more is left to tell.
func (r *Reporter) round(ctx context.Context, n *News) (behind bool) {
	list, err := r.statements(n)
	if err != nil {
		r.Log.Error("no reasons could be found out", "error", err)
		return true
	}
	if r.Mute {
		return false
	}
	known := make(map[string]bool, len(list))
	written := 0
	for _, s := range list {
		known[s.key] = true
		old, refresh := r.told[s.key], r.Refresh
		if s.figures {
			refresh = r.Figures
		}
		if old.kind == s.kind && (old.text == s.text || time.Since(old.at) < refresh) {
			behind = behind || old.text != s.text
			continue
		}
		if written == r.Most {
			behind = true
			break
		}
		written++
		if err := s.write(ctx); err != nil && !apierrors.IsNotFound(err) {
			level := slog.LevelWarn
			if apierrors.IsConflict(err) || ctx.Err() != nil {
				level = slog.LevelDebug // which is normal
			}
			r.Log.Log(ctx, level, "not told", "object", s.key, "error", err)
			behind = true
			continue
		}
		r.told[s.key] = telling{s.kind, s.text, time.Now()}
	}
	if !behind {
		maps.DeleteFunc(r.told, func(key string, _ telling) bool { return !known[key] })
	}
	return behind
}

// statements are all that there is to tell, the most telling first: what was refused, what
// waits, what runs, the figures.
func (r *Reporter) statements(n *News) (list []statement, err error) {
	waiting := make(map[string]map[string]int64) // by queue and code
	codes := make(map[string]int)
	said := make(map[string]bool)
	for _, noun := range slices.Sorted(maps.Keys(n.View.Refused)) {
		kind, id, _ := strings.Cut(noun, " ")
		if kind == "workload" {
			said[id] = true
			list = append(list, r.waits(n.View, id, "Refused", n.View.Refused[noun])...)
			codes["Refused"]++
		}
		if kind == "node" {
			list = append(list, r.refusedNode(id, n.View.Refused[noun]))
		}
	}
	for p, err := range n.Decision.Pending() {
		if err != nil {
			return nil, err
		}
		said[p.Workload] = true
		if waiting[p.Queue] == nil {
			waiting[p.Queue] = make(map[string]int64)
		}
		waiting[p.Queue][p.Reasons[0].Code.String()]++
		codes[p.Reasons[0].Code.String()]++
		list = append(list, r.waits(n.View, p.Workload, p.Reasons[0].Code.String(), reasonsText(p.Reasons))...)
	}
	for _, id := range slices.Sorted(maps.Keys(n.View.PodGroups)) {
		if !said[id] {
			list = append(list, r.runs(n.View, id))
		}
	}
	figures, err := r.figures(n, waiting)
	if err != nil {
		return nil, err
	}
	countWaiting(codes)
	return append(list, figures...), nil
}

// reasonsText is all reasons, the most telling first.
func reasonsText(reasons []allot.Reason) string {
	texts := make([]string, len(reasons))
	for i := range reasons {
		texts[i] = reasons[i].String()
	}
	text := strings.Join(texts, "; ")
	if most := 900; len(text) > most { // an event holds a kilobyte
		for !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return text
}

// waits tells a workload's objects why it waits: the PodGroup and each pod, by an event and a
// condition.
func (r *Reporter) waits(v *mirror.View, id, reason, text string) (list []statement) {
	promised := v.Promised[id]
	pods := slices.SortedFunc(slices.Values(v.Pods[id]), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	if pg := v.PodGroups[id]; pg != nil {
		why := conditionReason(reason)
		if v.Bound[id] > 0 {
			why = mirror.PartialReason
		}
		list = append(list, statement{key: "group " + id, kind: why + reason + promised, text: text, write: func(ctx context.Context) error {
			err := r.groupConditions(ctx, pg, metav1.ConditionFalse, why, text, promised)
			if err == nil {
				r.Events.Eventf(pg, nil, corev1.EventTypeWarning, "Waiting", "Scheduling", "%s", text)
			}
			return err
		}})
		promised = "" // is the group's
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			continue
		}
		list = append(list, statement{key: "pod " + string(p.UID), kind: reason + promised, text: text, write: func(ctx context.Context) error {
			err := r.podConditions(ctx, p, text, promised)
			if err == nil { // which is what kubectl describe shows of a reason
				r.Events.Eventf(p, nil, corev1.EventTypeWarning, "Waiting", "Scheduling", "%s", text)
			}
			return err
		}})
	}
	return list
}

// runs tells a PodGroup that what it needs is bound.
func (r *Reporter) runs(v *mirror.View, id string) statement {
	pg := v.PodGroups[id]
	return statement{key: "group " + id, kind: "Scheduled", text: "", write: func(ctx context.Context) error {
		return r.groupConditions(ctx, pg, metav1.ConditionTrue, "Scheduled", "all pods that must run together are bound", "")
	}}
}

func (r *Reporter) refusedNode(name, text string) statement {
	return statement{key: "node " + name, kind: "Refused", text: text, write: func(context.Context) error {
		o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: ""}}
		r.Events.Eventf(o, nil, corev1.EventTypeWarning, "Refused", "Scheduling", "%s", text)
		return nil
	}}
}

// podConditions say that a pod cannot be scheduled, for kubectl describe and for autoscalers,
// and what it has been promised.
func (r *Reporter) podConditions(ctx context.Context, p *corev1.Pod, text, promised string) error {
	patch := &corev1.Pod{}
	patch.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: text,
		LastTransitionTime: metav1.Now(),
	}}
	said := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == mirror.PromisedCondition })
	if c := promise(promised); said || promised != "" {
		patch.Status.Conditions = append(patch.Status.Conditions, corev1.PodCondition{
			Type: mirror.PromisedCondition, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: metav1.Now(),
		})
	}
	return r.Client.Status().Patch(ctx, named(p), conditionPatch(patch))
}

// mostMessage is how many bytes the API server takes as the message of a condition.
const mostMessage = 32 << 10

// promise is the condition of a promise as JSON; empty is of none. One that is too long, of a
// gang of hundreds of pods, is told without its places, and is not for the schedulers to come.
func promise(text string) metav1.Condition {
	if len(text) > mostMessage {
		text = "there is a promise, of more places than can be told here"
	}
	c := metav1.Condition{Type: mirror.PromisedCondition, Status: metav1.ConditionTrue, Reason: "Promised", Message: text}
	if text == "" {
		c.Status, c.Reason = metav1.ConditionFalse, "NoPromise"
	}
	return c
}

// groupConditions say whether what must run together is bound, and what was promised. Since
// when it is not is kept as long as the reason is the same: the grace of a broken gang is
// counted from there.
func (r *Reporter) groupConditions(ctx context.Context, pg *schedulingv1alpha2.PodGroup, status metav1.ConditionStatus, reason, text, promised string) error {
	next := pg.DeepCopy()
	list := &next.Status.Conditions
	old := meta.FindStatusCondition(*list, schedulingv1alpha2.PodGroupScheduled)
	if old != nil && old.Reason != reason {
		old.Status = metav1.ConditionUnknown // another reason is another beginning
	}
	meta.SetStatusCondition(list, metav1.Condition{
		Type: schedulingv1alpha2.PodGroupScheduled, Status: status, Reason: reason, Message: text,
		ObservedGeneration: pg.Generation,
	})
	if promised != "" || meta.FindStatusCondition(*list, mirror.PromisedCondition) != nil {
		meta.SetStatusCondition(list, promise(promised))
	}
	return r.Client.Status().Patch(ctx, next, client.MergeFrom(pg))
}

// figures tells queues and pools how they stand.
func (r *Reporter) figures(n *News, waiting map[string]map[string]int64) (list []statement, err error) {
	shares := make(map[string][]v1alpha1.QueueShare)
	for s, err := range n.Decision.Shares() {
		if err != nil {
			return nil, err
		}
		countShare(&s)
		if s.Class == "" {
			shares[s.Queue] = append(shares[s.Queue], r.share(&s))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.View.Queues)) {
		q := n.View.Queues[name]
		if q.Spec.Pool != "" && !n.View.Mine(q.Spec.Pool) {
			continue
		}
		next := q.DeepCopy()
		next.Status.Shares, next.Status.ObservedGeneration = shares[name], q.Generation
		next.Status.Waiting, next.Status.Reasons = reasonsOf(waiting[name])
		accepted(&next.Status.Conditions, q.Generation, n.View.Refused["queue "+name])
		list = append(list, r.status("queue "+name, q, next, next.Status))
	}
	nodes := nodesOfPools(n.Decision.Snapshot())
	for _, name := range slices.Sorted(maps.Keys(n.View.Pools)) {
		if !n.View.Mine(name) {
			continue
		}
		p := n.View.Pools[name]
		next := p.DeepCopy()
		next.Status.Nodes, next.Status.ObservedGeneration = nodes[name], p.Generation
		accepted(&next.Status.Conditions, p.Generation, n.View.Refused["pool "+name])
		list = append(list, r.status("pool "+name, p, next, next.Status))
	}
	return list, nil
}

// reasonsOf are how many wait, and why, the most frequent reason first.
func reasonsOf(codes map[string]int64) (all int64, list []v1alpha1.QueueReason) {
	for code, n := range codes { // sorted below
		all += n
		list = append(list, v1alpha1.QueueReason{Reason: code, Waiting: n})
	}
	slices.SortFunc(list, func(a, b v1alpha1.QueueReason) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Reason, b.Reason))
	})
	return all, list
}

// nodesOfPools counts the nodes that pools select.
func nodesOfPools(s *allot.Snapshot) map[string]int64 {
	count := make(map[string]int64)
	pools := slices.Collect(s.Pools())
	for n := range s.Nodes() {
		for i := range pools {
			if set := &pools[i].Nodes; set.Selector == nil && set.IDs == nil || set.Selector != nil && set.Selector.Matches(n.Labels) {
				count[pools[i].ID]++
			}
		}
	}
	return count
}

func accepted(conditions *[]metav1.Condition, generation int64, fault string) {
	c := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Sound", ObservedGeneration: generation}
	if fault != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "Refused", fault
	}
	meta.SetStatusCondition(conditions, c)
}

func (r *Reporter) share(s *allot.Share) v1alpha1.QueueShare {
	out := v1alpha1.QueueShare{
		Resource: r.Terms.ResourceName(s.Resource), Used: r.Terms.Quantity(s.Resource, s.Used),
		Demand: r.Terms.Quantity(s.Resource, s.Demand),
	}
	if !s.Quota.IsUnlimited() {
		out.Quota = r.Terms.Quantity(s.Resource, s.Quota.Amount())
	}
	if !s.Limit.IsUnlimited() {
		out.Limit = r.Terms.Quantity(s.Resource, s.Limit.Amount())
	}
	if s.Divided {
		out.FairShare, out.State = r.Terms.Quantity(s.Resource, s.FairShare), s.State.String()
	}
	return out
}

// status writes the status of an object of ours.
func (r *Reporter) status(key string, before, after client.Object, status any) statement {
	text := jsonText(withoutTimes(status))
	return statement{key: key, kind: acceptedKind(status), text: text, figures: true, write: func(ctx context.Context) error {
		return r.Client.Status().Patch(ctx, after, client.MergeFrom(before))
	}}
}

// named is an object of which only the name matters.
func named(p *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
}
