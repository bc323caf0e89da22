// Package e2e tests the scheduler against a real API server, from outside: objects in, and
// what becomes of them. The tests need the programs of a control plane, whose build takes
// minutes: they are skipped unless ALLOT_KUBERNETES=1 asks for them.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

const (
	// patience is how long a test waits for what must come; what must not come it awaits for
	// a moment only.
	patience = 25 * time.Second
	moment   = 1500 * time.Millisecond
	block    = "example.com/block"
	rack     = "example.com/rack"
)

// theWorld is one control plane for all tests of a run.
var theWorld struct {
	sync.Mutex
	plane  *controlplane.Plane
	client client.WithWatch
	binary string
	folder string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if theWorld.plane != nil {
		theWorld.plane.Stop()
	}
	if theWorld.folder != "" {
		_ = os.RemoveAll(theWorld.folder) // one of the system's temporary folders
	}
	os.Exit(code)
}

// A world is a test's: what it makes is gone when it ends.
type world struct {
	*testing.T
	ctx    context.Context
	client client.WithWatch
	*observer
	serial int
}

// newWorld starts the control plane if no test has, and clears it.
func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("ALLOT_KUBERNETES") == "" {
		t.Skip("needs a control plane, which takes minutes to build: ALLOT_KUBERNETES=1, or bash .ci/run kubernetes")
	}
	theWorld.Lock()
	defer theWorld.Unlock()
	ctx := t.Context()
	if theWorld.plane == nil {
		begin(t)
	}
	w := &world{T: t, ctx: ctx, client: theWorld.client}
	w.clear()
	w.observer = observe(context.Background(), t, theWorld.client)
	return w
}

func begin(t *testing.T) {
	t.Helper()
	var err error
	if theWorld.folder, err = os.MkdirTemp("", "allot-e2e-"); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background() // it outlives the test
	if theWorld.plane, err = controlplane.Start(ctx, theWorld.folder, t.Logf); err != nil {
		t.Fatal(err)
	}
	if err := theWorld.plane.Install(ctx); err != nil {
		t.Fatal(err)
	}
	if theWorld.client, err = theWorld.plane.Client(); err != nil {
		t.Fatal(err)
	}
	theWorld.binary = filepath.Join(theWorld.folder, "allot")
	if out, err := exec.Command("go", "build", "-o", theWorld.binary, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A process is a scheduler that runs.
type process struct {
	command *exec.Cmd
	log     *os.File
}

// scheduler starts a scheduler, which ends with the test. Its log is shown if that fails.
func (w *world) scheduler(args ...string) *process {
	w.Helper()
	w.serial++
	log, err := os.Create(filepath.Join(w.TempDir(), fmt.Sprintf("scheduler-%d.log", w.serial)))
	if err != nil {
		w.Fatal(err)
	}
	all := append([]string{"-levels", block + "," + rack, "-gang-grace", "3s", "-pages", "", "-debug"}, args...)
	p := &process{command: exec.Command(theWorld.binary, all...), log: log}
	p.command.Env = append(os.Environ(), "KUBECONFIG="+theWorld.plane.Scheduler)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		p.kill()
		if w.Failed() {
			text, _ := os.ReadFile(log.Name())
			w.Logf("%s:\n%s", filepath.Base(log.Name()), text[max(0, len(text)-30000):])
		}
	})
	return p
}

// kill ends a scheduler without a word.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have ended
	_ = p.command.Wait()         // it was killed
}

// clear deletes everything that tests make, and waits until it is gone.
func (w *world) clear() {
	w.Helper()
	now := client.GracePeriodSeconds(0)
	held := new(corev1.PodList)
	if err := w.client.List(w.ctx, held); err != nil {
		w.Fatal(err)
	}
	for i := range held.Items {
		if p := &held.Items[i]; len(p.Finalizers) > 0 {
			update(w, p, func(p *corev1.Pod) { p.Finalizers = nil })
		}
	}
	groups := new(schedulingv1alpha2.PodGroupList) // which a controller protects that does not run here
	if err := w.client.List(w.ctx, groups); err != nil {
		w.Fatal(err)
	}
	for i := range groups.Items {
		update(w, &groups.Items[i], func(pg *schedulingv1alpha2.PodGroup) { pg.Finalizers = nil })
	}
	kinds := []client.Object{
		&corev1.Pod{}, &schedulingv1alpha2.PodGroup{}, &v1alpha1.Queue{}, &v1alpha1.Pool{}, &corev1.Node{},
		&resourcev1.ResourceSlice{},
	}
	for _, kind := range kinds {
		if err := w.client.DeleteAllOf(w.ctx, kind, client.InNamespace(namespaceOf(kind)), now); err != nil {
			w.Fatal(err)
		}
	}
	// KWOK ends pods by name, a moment after it was asked to: not those of the next test.
	time.Sleep(time.Second)
	w.eventually("an empty cluster", func() string {
		pods := new(corev1.PodList)
		if err := w.client.List(w.ctx, pods); err != nil || len(pods.Items) > 0 {
			return fmt.Sprintf("%d pods, %v", len(pods.Items), err)
		}
		return ""
	})
}

func namespaceOf(o client.Object) string {
	switch o.(type) {
	case *corev1.Pod, *schedulingv1alpha2.PodGroup:
		return "default"
	}
	return ""
}

// eventually waits until there is nothing wrong.
func (w *world) eventually(what string, wrong func() string) {
	w.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if last = wrong(); last == "" {
			return
		}
	}
	w.Fatalf("waited in vain for %s: %s", what, last)
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.client.Create(w.ctx, o); err != nil {
			w.Fatal(err)
		}
	}
}

// update changes an object as it is now, however often others do meanwhile.
func update[T client.Object](w *world, o T, change func(T)) {
	w.Helper()
	w.eventually("an update", func() string {
		if err := w.client.Get(w.ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		change(o)
		if err := w.client.Update(w.ctx, o); err != nil {
			return err.Error()
		}
		return ""
	})
}

// node makes a node of GPUs; labels come as key and value in turns.
func (w *world) node(name string, gpus int64, labels ...string) *corev1.Node {
	w.Helper()
	all := make(map[string]string)
	for i := 0; i+1 < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	n := controlplane.Node(name, gpus, all)
	w.create(n)
	return n
}

// pool makes the one pool of all nodes.
func (w *world) pool(policy string) {
	w.Helper()
	w.create(&v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.PoolSpec{Policy: policy}})
}

// queue makes a queue with a quota of GPUs.
func (w *world) queue(name string, gpus int64, more ...func(*v1alpha1.Queue)) *v1alpha1.Queue {
	w.Helper()
	q := &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	q.Spec.Resources = []v1alpha1.QueueResource{{Name: "nvidia.com/gpu", Quota: resource.NewQuantity(gpus, resource.DecimalSI)}}
	for _, change := range more {
		change(q)
	}
	w.create(q)
	return q
}

type podChange = func(*corev1.Pod)

// podOf is a pod of a queue that asks for GPUs.
func podOf(name, queue string, gpus int64, more ...podChange) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{v1alpha1.QueueLabel: queue}}}
	p.Spec = corev1.PodSpec{
		SchedulerName: "allot",
		Containers:    []corev1.Container{{Name: "main", Image: "none"}},
	}
	if gpus > 0 {
		amount := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amount, Limits: amount}
	}
	grace := int64(30)
	p.Spec.TerminationGracePeriodSeconds = &grace
	for _, change := range more {
		change(p)
	}
	return p
}

func (w *world) pod(name, queue string, gpus int64, more ...podChange) *corev1.Pod {
	w.Helper()
	p := podOf(name, queue, gpus, more...)
	w.eventually("a pod that is admitted", func() string { // the server may not know its priority class yet
		if err := w.client.Create(w.ctx, p); err != nil {
			return err.Error()
		}
		return ""
	})
	return p
}

func class(name string) podChange {
	return func(p *corev1.Pod) { p.Labels[v1alpha1.ClassLabel] = name }
}

// group makes a PodGroup.
func (w *world) group(name, queue string, least int32, more ...func(*schedulingv1alpha2.PodGroup)) {
	w.Helper()
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{v1alpha1.QueueLabel: queue}}}
	pg.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: least}
	for _, change := range more {
		change(pg)
	}
	w.create(pg)
}

// memberOf makes a pod one of a group.
func memberOf(group string) podChange {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group} }
}

// gang makes a group and pods named after it.
func (w *world) gang(name, queue string, pods int, gpus int64, more ...podChange) {
	w.Helper()
	w.group(name, queue, int32(pods), func(pg *schedulingv1alpha2.PodGroup) {
		for key, value := range podOf("x", queue, 0, more...).Labels { // entries of their own: order cannot matter
			pg.Labels[key] = value
		}
	})
	for i := range pods {
		w.pod(fmt.Sprintf("%s-%d", name, i), queue, gpus, append([]podChange{memberOf(name)}, more...)...)
	}
}

// get reads a pod; nil is gone.
func (w *world) get(name string) *corev1.Pod {
	w.Helper()
	p := new(corev1.Pod)
	err := w.client.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: name}, p)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// runs waits until pods run, and says where.
func (w *world) runs(names ...string) (nodes []string) {
	w.Helper()
	for _, name := range names {
		var p *corev1.Pod
		w.eventually(name+" to run", func() string {
			if p = w.get(name); p == nil {
				return "it is gone"
			}
			if p.Status.Phase != corev1.PodRunning {
				return fmt.Sprintf("it is %s on %q: %v", p.Status.Phase, p.Spec.NodeName, messages(p))
			}
			return ""
		})
		nodes = append(nodes, p.Spec.NodeName)
	}
	return nodes
}

func messages(p *corev1.Pod) (list []string) {
	for _, c := range p.Status.Conditions {
		if c.Message != "" {
			list = append(list, c.Message)
		}
	}
	return list
}

// members are the names of a gang's pods.
func members(name string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", name, i))
	}
	return names
}

// waits waits until a pod says why it waits, in words that have some text.
func (w *world) waits(name, text string) {
	w.Helper()
	w.eventually(name+" to wait for "+text, func() string {
		p := w.get(name)
		switch {
		case p == nil:
			return "it is gone"
		case p.Spec.NodeName != "":
			return "it is bound to " + p.Spec.NodeName
		case !strings.Contains(strings.Join(messages(p), " "), text):
			return fmt.Sprint(messages(p))
		}
		return ""
	})
}

// tells waits until an event about a pod has a reason and some text.
func (w *world) tells(about *corev1.Pod, reason, text string) {
	w.Helper()
	w.eventually("an event of "+about.Name, func() string {
		list := new(eventsv1.EventList)
		if err := w.client.List(w.ctx, list, client.InNamespace("default")); err != nil {
			return err.Error()
		}
		var told []string
		for i := range list.Items {
			e := &list.Items[i]
			if e.Regarding.UID != about.UID {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, text) {
				return ""
			}
			told = append(told, e.Reason+": "+e.Note)
		}
		return fmt.Sprintf("%q", told)
	})
}

// stays makes sure that pods are not bound for a moment.
func (w *world) stays(names ...string) {
	w.Helper()
	time.Sleep(moment)
	for _, name := range names {
		if p := w.get(name); p != nil && p.Spec.NodeName != "" {
			w.Fatalf("%s is bound to %s", name, p.Spec.NodeName)
		}
	}
}

// goes waits until pods are gone.
func (w *world) goes(names ...string) {
	w.Helper()
	for _, name := range names {
		w.eventually(name+" to go", func() string {
			if w.get(name) != nil {
				return "it is there"
			}
			return ""
		})
	}
}

// remove deletes a pod at once.
func (w *world) remove(names ...string) {
	w.Helper()
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		if err := w.client.Delete(w.ctx, p, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
	}
}
