package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// A load keeps so many pods on a cluster: gangs of 1 to 64 come, work for a while, are
// deleted when all of them are done, and others come.
type load struct {
	*world
	queues int
	life   time.Duration // of a pod, on average
	chance *rand.Rand

	lock    sync.Mutex
	made    map[types.UID]time.Time // when a pod was there
	whole   map[string]time.Time    // when all pods of a gang were there
	waits   []time.Duration         // from there to bound, by pod
	after   []time.Duration         // from the gang's last pod
	gangs   map[string]int          // how many pods each has, by namespace and name
	count   int                     // of gangs so far
	pods    int                     // that are there or about to be
	created int
	failed  error
}

// bound takes note of a pod that is bound, as of when it was seen.
func (l *load) bound(p *corev1.Pod) {
	now := time.Now()
	l.lock.Lock()
	defer l.lock.Unlock()
	if at, ok := l.made[p.UID]; ok {
		l.waits = append(l.waits, now.Sub(at))
	}
	if at, ok := l.whole[gangOf(p)]; ok {
		l.after = append(l.after, now.Sub(at))
	}
}

// sizes are those of gangs, as often as they stand here: most are small, and most pods are
// of large ones.
var sizes = []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 16, 32, 64}

// add makes a gang, whose place among the pods is taken.
func (l *load) add(ctx context.Context, name string, size, gpus int, life time.Duration, queue string) error {
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{v1alpha1.QueueLabel: queue}}}
	pg.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(size)}
	if err := l.client.Create(ctx, pg); err != nil {
		return err
	}
	for i := range size {
		p := podOf(fmt.Sprintf("%s-%d", name, i), queue, int64(gpus), memberOf(name), worksFor(life.Round(time.Millisecond).String()))
		p.Labels["example.com/gang"] = name
		if err := l.client.Create(ctx, p); err != nil {
			return err
		}
		l.lock.Lock()
		l.created++
		l.made[p.UID] = time.Now()
		if i == size-1 {
			l.whole["default/"+name] = time.Now()
		}
		l.lock.Unlock()
	}
	return nil
}

// remove deletes a gang of which all is done.
func (l *load) remove(ctx context.Context, name string) error {
	err := l.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("default"), client.MatchingLabels{"example.com/gang": name}, client.GracePeriodSeconds(0))
	if err != nil {
		return err
	}
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)) // whose controller does not run
	if err := l.client.Patch(ctx, pg, patch); err != nil {
		return err
	}
	return l.client.Delete(ctx, pg)
}

// run keeps up the load until the context ends. It grows to its size within the time that a
// pod works, so that as many come then as later.
func (l *load) run(ctx context.Context, pods int) {
	work := make(chan func() error, 1000)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			for f := range work {
				if err := f(); err != nil && ctx.Err() == nil {
					l.lock.Lock()
					l.failed = err
					l.lock.Unlock()
				}
			}
		})
	}
	defer all.Wait()
	defer close(work)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		for _, name := range l.finished() {
			work <- func() error { return l.remove(ctx, name) }
		}
		l.lock.Lock()
		room := int(float64(pods)*min(1, time.Since(began).Seconds()/l.life.Seconds())) - l.pods
		l.lock.Unlock()
		for room > 0 {
			size, gpus := min(room, sizes[l.chance.IntN(len(sizes))]), 1
			if n := l.chance.IntN(20); n < 4 {
				gpus = 2
			}
			life := l.life/2 + time.Duration(l.chance.Int64N(int64(l.life)))
			l.lock.Lock()
			name := fmt.Sprintf("g%05d", l.count)
			queue := fmt.Sprintf("q%d", l.count%l.queues)
			l.count++
			l.pods += size
			l.gangs["default/"+name] = size
			l.lock.Unlock()
			work <- func() error { return l.add(ctx, name, size, gpus, life, queue) }
			room -= size
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// finished are the gangs of which all pods have succeeded since it was asked last.
func (l *load) finished() (names []string) {
	l.observer.lock.Lock()
	done := make(map[string]int, len(l.observer.succeeded))
	for key, pods := range l.observer.succeeded { // entries of their own: order cannot matter
		done[key] = len(pods)
	}
	l.observer.lock.Unlock()
	l.lock.Lock()
	defer l.lock.Unlock()
	for key, size := range l.gangs { // any order will do
		if done[key] == size {
			_, name, _ := strings.Cut(key, "/")
			names = append(names, name)
			l.pods -= size
			delete(l.gangs, key)
		}
	}
	return names
}

// TestLoad is the measurement of README: a cluster of 1,000 nodes on which 5,000 pods come
// and go for ten minutes. It judges what the observer sees, and runs only where ALLOT_LOAD
// asks for it.
func TestLoad(t *testing.T) {
	if os.Getenv("ALLOT_LOAD") == "" {
		t.Skip("a measurement of a quarter of an hour: ALLOT_LOAD=1")
	}
	nodes, pods := amount("ALLOT_NODES", 1000), amount("ALLOT_PODS", 5000)
	minutes := amount("ALLOT_MINUTES", 10)
	w := newWorld(t)
	w.crowd(nodes, 0, "allot")
	w.pool("runai")
	const queues = 10
	for i := range queues {
		w.queue(fmt.Sprintf("q%d", i), int64(nodes*8/queues))
	}
	l := &load{
		world: w, queues: queues, life: 150 * time.Second, chance: rand.New(rand.NewPCG(19, 1)),
		made: make(map[types.UID]time.Time), whole: make(map[string]time.Time), gangs: make(map[string]int),
	}
	w.observer.lock.Lock()
	w.onBind = l.bound
	w.observer.lock.Unlock()
	metrics := free(t)
	s := w.scheduler("-debug=false", "-metrics", metrics)
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute)
	defer stop()
	began := time.Now()
	l.run(ctx, pods)
	took := time.Since(began)
	figures := read(t, metrics+"/metrics")
	s.end()
	state := s.command.ProcessState
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.failed != nil {
		t.Errorf("the load failed: %v", l.failed)
	}
	t.Logf("%d nodes, %d pods at a time, %v: %d gangs and %d pods came, %d were bound", nodes, pods, took.Round(time.Second), l.count, l.created, len(l.waits))
	t.Logf("from created to seen bound: %s", quantiles(l.waits))
	t.Logf("from the last pod of its gang: %s", quantiles(l.after))
	t.Logf("decisions with orders: %s", quantiles(tookOf(t, s.log.Name())))
	t.Logf("%d writes; %v CPU; %d MiB at most", writesOf(figures), (state.UserTime() + state.SystemTime()).Round(100*time.Millisecond), maxMemory(state)>>20)
	for line := range strings.Lines(figures) {
		if strings.HasPrefix(line, "allot_decision") && !strings.Contains(line, "bucket") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if longest := w.longestHalf(); longest > 30*time.Second {
		t.Errorf("a gang was bound in part for %v", longest)
	}
}

// quantiles tells how long it took: half of them, all but a hundredth, and the worst.
func quantiles(list []time.Duration) string {
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	at := func(percent int) time.Duration {
		return list[min(len(list)-1, len(list)*percent/100)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, at most %v, of %d", at(50), at(90), at(99), at(100), len(list))
}

var tookField = regexp.MustCompile(`msg=decided .* took=(\S+)`)

// tookOf reads from a log how long decisions took.
func tookOf(t *testing.T, log string) (list []time.Duration) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := tookField.FindStringSubmatch(lines.Text()); m != nil {
			took, err := time.ParseDuration(m[1])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, took)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

var requests = regexp.MustCompile(`(?m)^rest_client_requests_total\{code="\d+",.*method="(\w+)"\} (\S+)$`)

// writesOf is how many requests a client has sent that write, by its own metrics.
func writesOf(metrics string) (n int) {
	for _, m := range requests.FindAllStringSubmatch(metrics, -1) {
		if count, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] != "GET" {
			n += int(count)
		}
	}
	return n
}
