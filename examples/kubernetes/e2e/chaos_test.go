package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

// amount is a number that the environment may change: how much of a thing a test does.
func amount(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// A faulty server stands between a scheduler and the API server: of the writes some are
// answered with a conflict, some are lost, and of some the answer is lost.
type faulty struct {
	behind  http.Handler
	percent int
	hurt    atomic.Int64
	writes  atomic.Int64
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lease := strings.Contains(r.URL.Path, "/leases/")
	if r.Method == http.MethodGet || lease {
		f.behind.ServeHTTP(w, r)
		return
	}
	f.writes.Add(1)
	if rand.IntN(100) >= f.percent {
		f.behind.ServeHTTP(w, r)
		return
	}
	f.hurt.Add(1)
	refuse := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"a fault of the test"}`, reason, code)
	}
	switch rand.IntN(3) {
	case 0:
		refuse(http.StatusConflict, metav1.StatusReasonConflict)
	case 1:
		refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	default: // it is carried out, and nobody hears of it
		f.behind.ServeHTTP(httptest.NewRecorder(), r)
		refuse(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	}
}

// proxy is a kubeconfig, made of another, by which writes go wrong.
func (w *world) proxy(who string, percent int) (kubeconfig string, f *faulty) {
	w.Helper()
	config := theWorld.plane.Config()
	target, err := url.Parse(config.Host)
	if err != nil {
		w.Fatal(err)
	}
	behind := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 100}, // loopback
		FlushInterval: -1, ErrorLog: nil,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f = &faulty{behind: behind, percent: percent}
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // schedulers that are killed leave connections half open
	server.StartTLS()                                   // tokens are sent to no other
	w.Cleanup(server.CloseClientConnections)
	w.Cleanup(func() { go server.Close() }) // watches that are open keep it waiting
	text, err := clientcmd.LoadFromFile(who)
	if err != nil {
		w.Fatal(err)
	}
	text.Clusters["local"].Server = server.URL
	kubeconfig = filepath.Join(w.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*text, kubeconfig); err != nil {
		w.Fatal(err)
	}
	return kubeconfig, f
}

// A crowd is gangs that come, are kept alive as a controller does, and are done one day.
type crowd struct {
	*world
	gangs []*gangOfCrowd
	works string // for how long each pod does
	again int    // pods that were made anew
}

type gangOfCrowd struct {
	name string
	gpus int64
	pods []string // the present pod of each place
}

// add submits a gang.
func (c *crowd) add(ctx context.Context, chance *rand.Rand) error {
	g := &gangOfCrowd{name: fmt.Sprintf("gang-%d", len(c.gangs)), gpus: int64(1 + chance.IntN(4))}
	size := 1 + chance.IntN(8)
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: g.name, Namespace: "default", Labels: map[string]string{v1alpha1.QueueLabel: "a"}}}
	pg.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(size)}
	if err := c.client.Create(ctx, pg); err != nil {
		return err
	}
	c.gangs = append(c.gangs, g)
	for i := range size {
		g.pods = append(g.pods, fmt.Sprintf("%s-%d", g.name, i))
		if err := c.submit(ctx, g, i); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) submit(ctx context.Context, g *gangOfCrowd, i int) error {
	return c.client.Create(ctx, podOf(g.pods[i], "a", g.gpus, memberOf(g.name), worksFor(c.works)))
}

// tend makes pods anew that are gone, and counts those that are not done. Errors are those
// of a server that is dead, and pass.
func (c *crowd) tend(ctx context.Context) (left int) {
	pods := new(corev1.PodList)
	if err := c.client.List(ctx, pods, client.InNamespace("default")); err != nil {
		return -1
	}
	phase := make(map[string]corev1.PodPhase)
	for i := range pods.Items {
		phase[pods.Items[i].Name] = pods.Items[i].Status.Phase
	}
	for _, g := range c.gangs {
		for i, name := range g.pods {
			switch p, there := phase[name]; {
			case p == corev1.PodSucceeded:
				continue
			case !there:
				c.again++
				g.pods[i] = fmt.Sprintf("%s-%d-again-%d", g.name, i, c.again)
				if err := c.submit(ctx, g, i); err != nil {
					g.pods[i] = name
				}
			}
			left++
		}
	}
	return left
}

// finish waits until the work of all gangs is done.
func (c *crowd) finish(within time.Duration) {
	c.Helper()
	left := 0
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(300 * time.Millisecond) {
		if left = c.tend(c.ctx); left == 0 {
			return
		}
	}
	c.Errorf("%d pods are not done: they are lost", left)
}

// Schedulers are killed at random moments, the API server and etcd die, a fifth of the writes
// go wrong: nothing is bound twice or lost, no node has more than it holds, no gang stays
// bound in part.
func TestChaos(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.node(fmt.Sprintf("n%02d", i), 8)
	}
	w.pool("runai")
	w.queue("a", 80)
	kubeconfig, faults := w.proxy(theWorld.plane.Scheduler, 20)
	args := []string{"-kubeconfig", kubeconfig, "-gang-grace", "5s"}
	s := w.scheduler(args...)
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) // its moments are random anyhow
	c := &crowd{world: w, works: "2s"}
	kills, servers, stores := amount("ALLOT_KILLS", 15), amount("ALLOT_SERVER_KILLS", 1), amount("ALLOT_STORE_KILLS", 1)
	for i := range kills {
		for range 2 {
			if err := c.add(w.ctx, chance); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(200+chance.IntN(1800)) * time.Millisecond)
		s.kill()
		c.tend(w.ctx)
		if i%max(1, kills/max(1, servers)) == kills/max(1, servers)/2 && servers > 0 {
			if err := theWorld.plane.Restart(w.ctx, controlplane.APIServer); err != nil {
				t.Fatal(err)
			}
		}
		if i%max(1, kills/max(1, stores)) == kills/max(1, stores)*3/4 && stores > 0 {
			if err := theWorld.plane.Restart(w.ctx, controlplane.Etcd); err != nil {
				t.Fatal(err)
			}
		}
		s = w.scheduler(args...)
	}
	c.finish(3 * time.Minute)
	t.Logf("%d gangs; %d of %d writes went wrong; %d pods were made anew", len(c.gangs), faults.hurt.Load(), faults.writes.Load(), c.again)
	for _, g := range w.halves(20 * time.Second) {
		t.Errorf("%s is bound in part", g)
	}
	if longest := w.longestHalf(); longest > 30*time.Second {
		t.Errorf("a gang was bound in part for %v", longest)
	}
}
