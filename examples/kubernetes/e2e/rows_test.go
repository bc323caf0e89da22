package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// The rows: what users of OSMO and of Run:ai, of topologies and of Kubernetes do, and what
// must come of it. Every decision is checked by verify.Plan, and the observer looks on.
var rows = []struct {
	name string
	play func(w *world)
}{
	{"OSMO: non-preemptible work stays within the quota, LOW work borrows", func(w *world) {
		w.node("n1", 8)
		w.pool("osmo")
		w.queue("a", 4)
		w.queue("b", 4)
		w.pod("first", "a", 4, class("NORMAL"))
		w.runs("first")
		w.pod("second", "a", 2, class("NORMAL"))
		w.waits("second", "quota")
		w.pod("low", "a", 2, class("LOW"))
		w.runs("low")
		w.stays("second")
	}},
	{"OSMO: an owner takes back what LOW work has borrowed", func(w *world) {
		w.node("n1", 8)
		w.pool("osmo")
		w.queue("a", 4)
		w.queue("b", 4)
		w.pod("low-1", "a", 4, class("LOW"))
		w.runs("low-1")
		w.pod("low-2", "a", 4, class("LOW"))
		w.runs("low-2")
		victim := w.get("low-2")
		w.pod("owner", "b", 4, class("NORMAL"))
		w.goes("low-2")
		w.runs("owner", "low-1")
		w.tells(victim, "Evicted", "default/pods/owner")
	}},
	{"a victim says for whom it goes, and who waits for it says where", func(w *world) {
		w.node("n1", 8)
		w.pool("osmo")
		w.queue("a", 0)
		w.queue("b", 8)
		w.pod("low", "a", 8, class("LOW"), func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
		w.runs("low")
		w.pod("owner", "b", 8, class("NORMAL"))
		w.eventually("the victim's note", func() string {
			if note := w.get("low").Annotations[v1alpha1.EvictedFor]; !strings.Contains(note, "default/pods/owner") {
				return note
			}
			if w.get("low").DeletionTimestamp == nil {
				return "it is not leaving"
			}
			if node := w.get("owner").Status.NominatedNodeName; node != "n1" {
				return "the owner is nominated for " + node
			}
			return ""
		})
		w.stays("owner")
		update(w, w.get("low"), func(p *corev1.Pod) { p.Finalizers = nil })
		w.goes("low")
		w.runs("owner")
	}},
	{"Run:ai: higher priority preempts in its queue, the newest first", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.pod("old", "a", 4, class("train"))
		w.runs("old")
		time.Sleep(1100 * time.Millisecond) // times of objects are in seconds
		w.pod("new", "a", 4, class("train"))
		w.runs("new")
		w.pod("build", "a", 4, class("build"))
		w.goes("new")
		w.runs("build", "old")
	}},
	{"priority classes of Kubernetes are priorities", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		for name, value := range map[string]int32{"e2e-low": 10, "e2e-high": 60} { // objects of their own
			pc := priorityClass(name, value)
			if err := client.IgnoreAlreadyExists(w.client.Create(w.ctx, pc)); err != nil {
				w.Fatal(err)
			}
		}
		of := func(name string) podChange { return func(p *corev1.Pod) { p.Spec.PriorityClassName = name } }
		w.pod("low", "a", 8, of("e2e-low"))
		w.runs("low")
		w.pod("high", "a", 8, of("e2e-high"))
		w.goes("low")
		w.runs("high")
	}},
	{"a limit caps what a queue borrows", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 2, func(q *v1alpha1.Queue) { q.Spec.Resources[0].Limit = resource.NewQuantity(4, resource.DecimalSI) })
		w.pod("one", "a", 4)
		w.runs("one")
		w.pod("two", "a", 1)
		w.waits("two", "limit")
		w.eventually("the queue's status", func() string {
			q := new(v1alpha1.Queue)
			if err := w.client.Get(w.ctx, client.ObjectKey{Name: "a"}, q); err != nil {
				return err.Error()
			}
			if s := q.Status; s.Waiting != 1 || len(s.Reasons) != 1 || len(s.Shares) == 0 || s.Shares[0].Used != "4" {
				return fmt.Sprint(s)
			}
			return ""
		})
	}},
	{"a gang starts whole, and the next one waits whole", func(w *world) {
		w.node("n1", 8)
		w.node("n2", 8)
		w.pool("runai")
		w.queue("a", 16)
		w.gang("one", "a", 3, 4)
		w.runs(members("one", 3)...)
		w.gang("two", "a", 2, 4)
		w.waits("two-0", "start together")
		w.stays(members("two", 2)...)
		w.remove(members("one", 3)...)
		w.runs(members("two", 2)...)
	}},
	{"a gang waits until all of it is submitted", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.group("g", "a", 3)
		w.pod("g-0", "a", 2, memberOf("g"))
		w.pod("g-1", "a", 2, memberOf("g"))
		w.waits("g-0", "has 2 of the 3 tasks")
		w.pod("g-2", "a", 2, memberOf("g"))
		w.runs(members("g", 3)...)
		w.eventually("the group's condition", func() string {
			pg := new(schedulingv1alpha2.PodGroup)
			if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: "g"}, pg); err != nil {
				return err.Error()
			}
			if len(pg.Status.Conditions) == 0 || pg.Status.Conditions[0].Status != metav1.ConditionTrue {
				return fmt.Sprint(pg.Status.Conditions)
			}
			return ""
		})
	}},
	{"a gang of unlike pods is one gang", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.group("g", "a", 3)
		w.pod("g-driver", "a", 0, memberOf("g"))
		w.pod("g-0", "a", 4, memberOf("g"))
		w.stays("g-driver", "g-0")
		w.pod("g-1", "a", 4, memberOf("g"))
		w.runs("g-driver", "g-0", "g-1")
	}},
	{"topology: a gang that needs a rack gets one", func(w *world) {
		for i := range 4 {
			w.node(fmt.Sprintf("n%d", i), 8, rack, fmt.Sprintf("r%d", i/2), block, "b0")
		}
		w.pool("runai")
		w.queue("a", 32)
		w.pod("half", "a", 4, selects("kubernetes.io/hostname", "n0"))
		w.runs("half")
		w.group("g", "a", 4, within(rack))
		for i := range 4 {
			w.pod(fmt.Sprintf("g-%d", i), "a", 4, memberOf("g"))
		}
		for _, node := range w.runs(members("g", 4)...) {
			if node != "n2" && node != "n3" {
				w.Errorf("on %s, which is not in the free rack", node)
			}
		}
		w.group("h", "a", 4, within(rack))
		for i := range 4 {
			w.pod(fmt.Sprintf("h-%d", i), "a", 4, memberOf("h"))
		}
		w.waits("h-0", rack)
	}},
	{"selectors, affinity and taints lead to nodes", func(w *world) {
		w.node("n1", 8, "kind", "a100")
		w.node("n2", 8, "kind", "h100")
		tainted := w.node("n3", 8, "kind", "b200")
		update(w, tainted, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "reserved", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
		})
		w.pool("runai")
		w.queue("a", 24)
		w.pod("by-label", "a", 1, selects("kind", "h100"))
		w.pod("by-affinity", "a", 1, func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "kind", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"h100", "b200"}},
				}}},
			}}}
		})
		w.pod("tolerates", "a", 1, selects("kind", "b200"), func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "reserved", Operator: corev1.TolerationOpExists}}
		})
		w.pod("turned-away", "a", 1, selects("kind", "b200"))
		if nodes := w.runs("by-label", "by-affinity", "tolerates"); !slices.Equal(nodes, []string{"n2", "n1", "n3"}) {
			w.Error(nodes)
		}
		w.waits("turned-away", "taint")
	}},
	{"a cordoned node takes nothing, and keeps what it has", func(w *world) {
		n := w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.pod("one", "a", 1)
		w.runs("one")
		update(w, n, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		w.pod("two", "a", 1)
		w.waits("two", "cordoned")
		w.runs("one")
		update(w, n, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		w.runs("two")
	}},
	{"pods of other schedulers are use of their nodes", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.pod("foreign", "", 6, func(p *corev1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "other", "n1" })
		w.runs("foreign")
		w.pod("mine", "a", 4)
		w.waits("mine", "free")
		w.remove("foreign")
		w.runs("mine")
	}},
	{"what cannot be said is refused, and hurts nobody else", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		anti := func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{},
			}}}}
		}
		w.pod("unsaid", "a", 1, anti)
		w.pod("lost", "nowhere", 1)
		w.create(&v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "orphan"}, Spec: v1alpha1.QueueSpec{Parent: "nobody"}})
		w.pod("sound", "a", 1)
		w.runs("sound")
		w.waits("unsaid", "anti-affinity")
		w.tells(w.get("unsaid"), "Waiting", "anti-affinity")
		w.waits("lost", `no queue "nowhere"`)
		w.pod("ignored", "a", 1, anti, func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.IgnoreUnsaid: "true"} })
		w.runs("ignored")
		w.eventually("the queue's refusal", func() string {
			q := new(v1alpha1.Queue)
			if err := w.client.Get(w.ctx, client.ObjectKey{Name: "orphan"}, q); err != nil {
				return err.Error()
			}
			if len(q.Status.Conditions) == 0 || q.Status.Conditions[0].Status != metav1.ConditionFalse {
				return fmt.Sprint(q.Status)
			}
			return ""
		})
	}},
	{"a pool whose knobs make no sense keeps its policy, and says so", func(w *world) {
		w.node("n1", 8)
		w.pool("osmo")
		w.queue("a", 4)
		w.pod("first", "a", 4, class("NORMAL"))
		w.runs("first")
		pool := &v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "main"}}
		update(w, pool, func(p *v1alpha1.Pool) { p.Spec.Knobs = &runtime.RawExtension{Raw: []byte(`{"backfil":"easy"}`)} })
		w.eventually("the pool's refusal", func() string {
			if err := w.client.Get(w.ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
				return err.Error()
			}
			if c := pool.Status.Conditions; len(c) == 0 || c[0].Status != metav1.ConditionFalse || !strings.Contains(c[0].Message, "backfil") {
				return fmt.Sprint(pool.Status)
			}
			return ""
		})
		w.pod("low", "a", 4, class("LOW"))
		w.runs("low")
	}},
	{"a policy that promises places says when, and what would be late waits", func(w *world) {
		w.node("n1", 8)
		w.create(&v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.PoolSpec{
			Policy: "runai", Knobs: &runtime.RawExtension{Raw: []byte(`{"reserve":{"backfill":"easy"}}`)},
		}})
		w.queue("a", 8)
		endsAfter := func(seconds int64) podChange { return func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = &seconds } }
		w.pod("runs", "a", 4, endsAfter(3600))
		w.runs("runs")
		w.pod("large", "a", 8, endsAfter(3600))
		w.eventually("a promise", func() string {
			for _, c := range w.get("large").Status.Conditions {
				if c.Type == v1alpha1.Group+"/Promised" && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, `"n1"`) {
					return ""
				}
			}
			return fmt.Sprint(w.get("large").Status.Conditions)
		})
		w.pod("long", "a", 4, endsAfter(7200))
		w.waits("long", "large")
		w.pod("short", "a", 4, endsAfter(600))
		w.runs("short")
		w.stays("large", "long")
	}},
	{"a node vanishes under a gang: what is left of it goes, the rest goes on", func(w *world) {
		n1 := w.node("n1", 8)
		w.node("n2", 8)
		w.pool("runai")
		w.queue("a", 16)
		w.gang("g", "a", 3, 4)
		nodes := w.runs(members("g", 3)...)
		w.pod("bystander", "a", 1, selects("kubernetes.io/hostname", "n2"))
		w.runs("bystander")
		if err := w.client.Delete(w.ctx, n1); err != nil {
			w.Fatal(err)
		}
		for i, node := range nodes { // as the garbage collector of pods does, which does not run here
			if node == "n1" {
				w.remove(fmt.Sprintf("g-%d", i))
			}
		}
		w.goes(members("g", 3)...)
		w.runs("bystander")
		w.node("n3", 8)
		for i := range 3 {
			w.pod(fmt.Sprintf("again-%d", i), "a", 4, memberOf("g"))
		}
		w.runs(members("again", 3)...)
	}},
	{"a quota is cut: what is over it goes when others want theirs", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		a := w.queue("a", 8)
		w.queue("b", 0)
		w.pod("a-1", "a", 4)
		w.runs("a-1")
		time.Sleep(1100 * time.Millisecond)
		w.pod("a-2", "a", 4)
		w.runs("a-2")
		w.pod("b-1", "b", 4)
		w.waits("b-1", "free")
		update(w, a, func(q *v1alpha1.Queue) { q.Spec.Resources[0].Quota = resource.NewQuantity(4, resource.DecimalSI) })
		b := &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
		update(w, b, func(q *v1alpha1.Queue) { q.Spec.Resources[0].Quota = resource.NewQuantity(4, resource.DecimalSI) })
		w.goes("a-2")
		w.runs("b-1", "a-1")
	}},
	{"a label is removed from a node under running work, which stays", func(w *world) {
		n := w.node("n1", 8, "kind", "a100")
		w.pool("runai")
		w.queue("a", 8)
		w.pod("one", "a", 1, selects("kind", "a100"))
		w.runs("one")
		update(w, n, func(n *corev1.Node) { delete(n.Labels, "kind") })
		w.pod("two", "a", 1, selects("kind", "a100"))
		w.waits("two", "labels do not match")
		w.pod("three", "a", 1)
		w.runs("one", "three")
	}},
	{"a queue is deleted under running work, which stays and counts", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		a := w.queue("a", 4)
		w.queue("b", 4)
		w.pod("one", "a", 6)
		w.runs("one")
		if err := w.client.Delete(w.ctx, a); err != nil {
			w.Fatal(err)
		}
		w.pod("two", "b", 4)
		w.waits("two", "free")
		w.runs("one")
	}},
	{"a node shrinks under running work, which stays", func(w *world) {
		n := w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.pod("one", "a", 6)
		w.runs("one")
		w.eventually("a smaller node", func() string {
			if err := w.client.Get(w.ctx, client.ObjectKeyFromObject(n), n); err != nil {
				return err.Error()
			}
			n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
			if err := w.client.Status().Update(w.ctx, n); err != nil {
				return err.Error()
			}
			return ""
		})
		w.pod("two", "a", 1)
		w.waits("two", "free")
		w.runs("one")
	}},
	{"work that is done makes room, and a done gang is no broken one", func(w *world) {
		w.node("n1", 8)
		w.pool("runai")
		w.queue("a", 8)
		w.group("g", "a", 2)
		w.pod("g-0", "a", 4, memberOf("g"), worksFor("2s"))
		w.pod("g-1", "a", 4, memberOf("g"))
		w.runs("g-1")
		w.pod("next", "a", 4)
		w.runs("next")
		time.Sleep(5 * time.Second) // more than the grace
		w.runs("g-1")
	}},
	{"a budget of Kubernetes forbids an eviction, which is told, tried again and done", func(w *world) {
		w.node("n1", 8)
		w.pool("osmo")
		w.queue("a", 0)
		w.queue("b", 8)
		w.pod("low", "a", 8, class("LOW"))
		w.runs("low")
		budget := disruptionBudget("e2e", v1alpha1.QueueLabel, "a")
		w.create(budget)
		w.Cleanup(func() { _ = w.client.Delete(theContext(), budget) })
		w.pod("owner", "b", 8, class("NORMAL"))
		w.stays("owner")
		w.runs("low")
		if err := w.client.Delete(w.ctx, budget); err != nil {
			w.Fatal(err)
		}
		w.goes("low")
		w.runs("owner")
	}},
}

// Two schedulers, each with a pool of its own, leave each other's nodes and work alone.
func TestTwoSchedulers(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"east", "west"} {
		w.node("node-"+name, 8, "side", name)
		w.create(&v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.PoolSpec{
			NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"side": name}},
		}})
		w.queue("q-"+name, 8, func(q *v1alpha1.Queue) { q.Spec.Pool = name })
		w.scheduler("-verify", "-name", name, "-pools", name)
	}
	by := func(name string) podChange { return func(p *corev1.Pod) { p.Spec.SchedulerName = name } }
	w.pod("one", "q-east", 4, by("east"))
	w.pod("two", "q-west", 8, by("west"))
	w.pod("three", "q-east", 8, by("east"))
	if nodes := w.runs("one", "two"); !slices.Equal(nodes, []string{"node-east", "node-west"}) {
		w.Error(nodes)
	}
	w.waits("three", "free")
	w.remove("two")
	w.stays("three")
}

// A dry run asks for nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.scheduler("-dry-run")
	w.pod("one", "", 1)
	w.stays("one")
}

func TestRows(t *testing.T) {
	w := newWorld(t)
	w.scheduler("-verify")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			one := &world{T: t, ctx: t.Context(), client: w.client, observer: w.observer}
			one.clear()
			row.play(one)
		})
	}
}

// selects makes a pod ask for a label of its node.
func selects(key, value string) podChange {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// worksFor has a pod succeed after a time.
func worksFor(text string) podChange {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{"example.com/works-for": text} }
}

// within keeps a group in one domain of a level.
func within(key string) func(*schedulingv1alpha2.PodGroup) {
	return func(pg *schedulingv1alpha2.PodGroup) {
		pg.Spec.SchedulingConstraints = &schedulingv1alpha2.PodGroupSchedulingConstraints{
			Topology: []schedulingv1alpha2.TopologyConstraint{{Key: key}},
		}
	}
}
