package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/allotsched/allot/placement"
)

// A runKey says which run one is.
type runKey struct {
	workload int
	policy   placement.Strategy
	seed     int64
}

// runAll makes a run of every workload, policy and seed, several at once. The
// results are in that order, whoever is done first.
func runAll(c *cluster, workloads []*workload, o *options, m *meter) ([]*series, error) {
	var keys []runKey
	for w := range workloads {
		for _, policy := range o.policies {
			for _, seed := range o.seeds {
				keys = append(keys, runKey{w, policy, seed})
			}
		}
	}
	results := make([]*series, len(keys))
	errs := make([]error, len(keys))
	next := make(chan int)
	m.begin(len(keys), min(o.jobs, len(keys)))
	var workers sync.WaitGroup
	for range min(o.jobs, len(keys)) {
		workers.Go(func() {
			for i := range next {
				k := keys[i]
				results[i], errs[i] = simulate(c, workloads[k.workload], k.policy, o.load, k.seed)
				if errs[i] != nil {
					errs[i] = fmt.Errorf("%s, %s, seed %d: %w", workloads[k.workload].source, k.policy, k.seed, errs[i])
				} else {
					m.done(results[i].pods)
				}
			}
		})
	}
	for i := range keys {
		next <- i
	}
	close(next)
	workers.Wait()
	m.end()
	return results, cmp.Or(errs...)
}

// A meter tells on standard error how many runs are done, if that is a terminal,
// and at the end how long they took. It may be used by several at once.
type meter struct {
	w        io.Writer
	terminal bool
	now      func() time.Time

	lock       sync.Mutex
	since      time.Time
	took       time.Duration
	runs, jobs int
	ran, pods  int
}

func newMeter(w io.Writer, now func() time.Time) *meter {
	m := &meter{w: w, now: now}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return m
}

func (m *meter) begin(runs, jobs int) {
	m.runs, m.jobs, m.since = runs, jobs, m.now()
	m.tell()
}

// done counts a run of so many pods.
func (m *meter) done(pods int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.ran++
	m.pods += pods
	m.tell()
}

func (m *meter) tell() {
	if m.terminal {
		fmt.Fprintf(m.w, "\r\x1b[Kfragmentation: %d of %d runs, %d at once", m.ran, m.runs, m.jobs)
	}
}

func (m *meter) end() {
	m.took = m.now().Sub(m.since)
	if m.terminal {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

// summary tells the time of a pod on one core: each run has one.
func (m *meter) summary() {
	perPod := m.took * time.Duration(m.jobs) / time.Duration(max(1, m.pods))
	fmt.Fprintf(m.w, "fragmentation: %d runs in %s, %d at once, %s a pod\n",
		m.ran, m.took.Round(10*time.Millisecond), m.jobs, perPod.Round(10*time.Nanosecond))
}
