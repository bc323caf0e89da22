package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

// Beside kube-scheduler, on the same control plane and the same load: gangs of 10 pods of one
// GPU, all submitted before the scheduler starts. It measures and judges nothing, and runs
// only where ALLOT_BESIDE asks for it.
func TestBeside(t *testing.T) {
	nodes, gangs := amount("ALLOT_NODES", 200), amount("ALLOT_GANGS", 100)
	if os.Getenv("ALLOT_BESIDE") == "" {
		t.Skip("a measurement: ALLOT_BESIDE=1")
	}
	w := newWorld(t)
	bin, err := controlplane.Build(w.ctx, t.Logf, "kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		name, scheduler, qps, burst string
	}{
		{"kube-scheduler, 50 requests per second (its default)", "kube", "50", "100"},
		{"allot, 50 requests per second", "allot", "50", "100"},
		{"kube-scheduler, no limit", "kube", "100000", "100000"},
		{"allot, no limit (its default)", "allot", "-1", "10"},
	} {
		t.Run(run.name, func(t *testing.T) {
			one := &world{T: t, ctx: t.Context(), client: w.client, observer: w.observer}
			one.clear()
			one.crowd(nodes, gangs, map[string]string{"kube": "default-scheduler", "allot": "allot"}[run.scheduler])
			kubeconfig, count := one.proxy(theWorld.plane.Kubeconfig, 0)
			began := time.Now()
			var p *process
			if run.scheduler == "kube" {
				p = one.kubeScheduler(filepath.Join(bin, "kube-scheduler"), kubeconfig, run.qps, run.burst)
			} else {
				p = one.scheduler("-kubeconfig", kubeconfig, "-qps", run.qps, "-burst", run.burst, "-debug=false")
			}
			took := one.allBound(10 * gangs)
			p.kill()
			state := p.command.ProcessState
			t.Logf("%d nodes, %d gangs of 10: all bound %v after the start (%v seen from the first bind), %d writes, %v CPU, %d MiB",
				nodes, gangs, time.Since(began).Round(10*time.Millisecond), took.Round(10*time.Millisecond), count.writes.Load(),
				(state.UserTime() + state.SystemTime()).Round(10*time.Millisecond), maxMemory(state)>>20)
		})
	}
}

// crowd makes nodes and gangs, several at a time.
func (w *world) crowd(nodes, gangs int, scheduler string) {
	w.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	each := func(n int, do func(i int)) {
		for i := range n {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				do(i)
			})
		}
		all.Wait()
	}
	each(nodes, func(i int) { w.node(fmt.Sprintf("n%04d", i), 8) })
	w.eventually("nodes that are ready", func() string {
		list := new(corev1.NodeList)
		if err := w.client.List(w.ctx, list); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if len(list.Items[i].Status.Conditions) == 0 {
				return list.Items[i].Name
			}
		}
		return ""
	})
	each(gangs, func(i int) {
		w.gang(fmt.Sprintf("g%03d", i), "", 10, 1, func(p *corev1.Pod) { p.Spec.SchedulerName, p.Labels = scheduler, map[string]string{} })
	})
}

// allBound waits until as many pods are bound, and says how long after the first.
func (w *world) allBound(pods int) time.Duration {
	w.Helper()
	var first time.Time
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		list := new(corev1.PodList)
		if err := w.client.List(w.ctx, list, client.InNamespace("default")); err != nil {
			w.Fatal(err)
		}
		bound := 0
		for i := range list.Items {
			if list.Items[i].Spec.NodeName != "" {
				bound++
			}
		}
		if bound > 0 && first.IsZero() {
			first = time.Now()
		}
		if bound == pods {
			return time.Since(first)
		}
	}
	w.Error("not all are bound after four minutes")
	return 0
}

// kubeScheduler starts kube-scheduler with the features that Allot reads objects of.
func (w *world) kubeScheduler(binary, kubeconfig, qps, burst string) *process {
	w.Helper()
	config := filepath.Join(w.TempDir(), "config.yaml")
	text := fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"leaderElection: {leaderElect: false}\nclientConnection: {kubeconfig: %q, qps: %s, burst: %s}\n", kubeconfig, qps, burst)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	log, err := os.Create(filepath.Join(w.TempDir(), "kube-scheduler.log"))
	if err != nil {
		w.Fatal(err)
	}
	p := &process{log: log, command: exec.Command(binary, "--config", config, "--secure-port=0",
		"--feature-gates=GenericWorkload=true,GangScheduling=true")}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		p.kill()
		if w.Failed() {
			text, _ := os.ReadFile(log.Name())
			w.Logf("kube-scheduler:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return p
}
