package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// X1, recomputed from the state in which the plan has been carried out, by code
// that shares nothing with the solver: Verify says that reasons are true; this
// says that all that apply are there, and what Verify does not count.

// An x1Model is the world after a plan.
type x1Model struct {
	*verifier
	seen map[allot.Code]int
}

// TestX1AllThatApply: bounds of queues, what is short in all, nodes by predicate,
// the nearest miss, the pieces, and how much of a gang finds a place.
func TestX1AllThatApply(t *testing.T) {
	seen := make(map[allot.Code]int)
	for seed := range deep.Seeds(t, 2000) {
		for _, s := range []*allot.State{drawn(int(seed)), churned(t, int(seed))} {
			s.Pools[0].Policy.Queueing = queue.BestEffort // else what stands before is a reason, too
			p, err := allot.Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			after, err := allot.Apply(s, p)
			if err != nil {
				t.Fatal(err)
			}
			m := &x1Model{newVerifier(after, &allot.Plan{}), seen}
			for i := range p.Pending {
				if what := m.check(&p.Pending[i]); what != "" {
					t.Errorf("seed %d: %s: %s\n%s", seed, p.Pending[i].Workload, what, p.String())
				}
			}
		}
	}
	for _, code := range []allot.Code{allot.NoQuota, allot.OverLimit, allot.OverBorrowingLimit, allot.MaxWorkloads, allot.NoCapacity, allot.NoNode, allot.GangShort} {
		if seen[code] < 5 && !testing.Short() {
			t.Errorf("only %d of %v", seen[code], code)
		}
	}
	t.Log(seen)
}

// check says what is wrong with the reasons of one workload.
func (m *x1Model) check(p *allot.Pending) string {
	w := m.workloads[p.Workload]
	f := &w.forms[0]
	if len(w.forms) > 1 || w.places > 0 || len(f.Groups) > 0 || f.PodSets[0].Step == gang.Halving {
		return ""
	}
	if p.Reasons[0].Code <= allot.NotSubmitted { // told by themselves
		return ""
	}
	if m.neverWithin(f) { // told by itself, too
		return ""
	}
	if what := m.checkBounds(p, w, f); what != "" {
		return what
	}
	return m.checkPlace(p, f)
}

// minimum is how many tasks of each set start together.
func minimum(f *verifiedForm) (out []int64) {
	for _, set := range f.PodSets {
		out = append(out, int64(cmp.Or(set.Min, set.Count)))
	}
	return out
}

// asksOf is what the minimum is charged, or is to be free in all, per resource.
func (m *x1Model) asksOf(f *verifiedForm, charged bool) map[string]int64 {
	out := make(map[string]int64)
	for i, n := range minimum(f) {
		r := &f.PodSets[i].Request
		for resource, amount := range r.Resources {
			out[resource] += n * amount
		}
		if charged || r.GPU.Memory == 0 {
			out[allot.GPU] += n * chargedGPU(r.GPU, f.queue.pool)
		}
	}
	return out
}

// neverWithin says whether the bounds would refuse the form with nothing in use.
func (m *x1Model) neverWithin(f *verifiedForm) bool {
	for q := f.queue; q != nil; q = q.parent {
		if q.cap.Given() && q.cap.Amount() == 0 {
			return true
		}
		for resource, asks := range m.asksOf(f, true) {
			key := verifiedKey{resource, ""}
			most := min(q.limitOf(key), q.borrowingOf(key))
			if f.nonPreemptible && !q.pool.policy.NonPreemptibleOverQuota {
				most = min(most, q.quotaOf(key))
			}
			if asks > most {
				return true
			}
		}
	}
	return false
}

// checkBounds: Q2, Q3 and Q10 of the queue and all above it.
func (m *x1Model) checkBounds(p *allot.Pending, w *verifiedWorkload, f *verifiedForm) string {
	var want, got []string
	tell := func(code allot.Code, q *verifiedQueue, resource string, have, need int64) {
		m.seen[code]++
		want = append(want, fmt.Sprint(code, q.id, resource, have, need))
	}
	for q := f.queue; q != nil; q = q.parent {
		for resource, asks := range m.asksOf(f, true) {
			key := verifiedKey{resource, ""}
			use := q.used(key)
			bound := func(code allot.Code, most, used int64) {
				if asks > 0 && most != unbounded && used+asks > most {
					tell(code, q, resource, most-used, asks)
				}
			}
			bound(allot.OverLimit, q.limitOf(key), use.all)
			bound(allot.OverBorrowingLimit, q.borrowingOf(key), use.all)
			if f.nonPreemptible && !q.pool.policy.NonPreemptibleOverQuota {
				bound(allot.NoQuota, q.quotaOf(key), use.nonPreemptible)
			}
		}
		if q.cap.Given() && q.running >= q.cap.Amount() {
			tell(allot.MaxWorkloads, q, "", q.running, q.cap.Amount())
		}
	}
	for _, r := range p.Reasons {
		switch r.Code {
		case allot.OverLimit, allot.OverBorrowingLimit, allot.NoQuota, allot.MaxWorkloads:
			if r.Class == "" {
				got = append(got, fmt.Sprint(r.Code, r.Queue, r.Resource, r.Have, r.Need))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return fmt.Sprintf("bounds: want %v, got %v", want, got)
	}
	return ""
}

// checkPlace: what is short in all, and what single nodes say of a form of one pod
// set.
func (m *x1Model) checkPlace(p *allot.Pending, f *verifiedForm) string {
	told := make(map[allot.Code]allot.Reason)
	short := make(map[string]allot.Reason)
	for _, r := range p.Reasons {
		told[r.Code] = r
		if r.Code == allot.NoCapacity {
			short[r.Resource] = r
		}
	}
	for resource, need := range m.asksOf(f, false) {
		if have := f.queue.free(resource); have < need {
			m.seen[allot.NoCapacity]++
			if r, ok := short[resource]; !ok || r.Have != have || r.Need != need {
				return fmt.Sprintf("%s: %d of %d free in all: %v", resource, have, need, r)
			}
			delete(short, resource)
		}
	}
	if len(short) > 0 {
		return fmt.Sprint("enough is free in all: ", short)
	}
	if len(f.PodSets) > 1 {
		return ""
	}
	takes := 0
	more := false // than what NoCapacity says
	for _, n := range f.queue.pool.nodes {
		switch miss := n.miss(f, &f.PodSets[0].Request); {
		case n.source.Lost:
		case miss.predicate == 0:
			takes++
		case miss.predicate == placement.NodeSet:
		case miss.predicate == placement.Resources:
			more = more || !m.isShort(p, miss.resource)
		case miss.predicate == placement.FreeDevices:
			more = more || !m.isShort(p, allot.GPU) || m.inPieces(f, n)
		default:
			more = true
		}
	}
	r, noNode := told[allot.NoNode]
	if want := takes == 0 && (more || !m.shortAtAll(p)); want != noNode {
		return fmt.Sprintf("no-node: want %v", want)
	} else if noNode {
		m.seen[allot.NoNode]++
		if what := m.checkNearest(f, r.Nearest); what != "" {
			return what
		}
		return m.checkPieces(f, r.Free)
	}
	return m.checkGang(f, told[allot.GangShort], takes)
}

func (m *x1Model) shortAtAll(p *allot.Pending) bool {
	return slices.ContainsFunc(p.Reasons, func(r allot.Reason) bool { return r.Code == allot.NoCapacity })
}

func (m *x1Model) isShort(p *allot.Pending, resource string) bool {
	return slices.ContainsFunc(p.Reasons, func(r allot.Reason) bool { return r.Code == allot.NoCapacity && r.Resource == resource })
}

// able are the devices of a node that would take a part of the task were they
// empty, by model.
func (m *x1Model) able(n *verifiedNode, g allot.GPURequest) map[string][]*verifiedDevice {
	out := make(map[string][]*verifiedDevice)
	for i := range n.devices {
		if d := &n.devices[i]; len(n.unsuitableDevice(g, i)) == 0 && d.takes(g, 0, 0) {
			out[d.source.Model] = append(out[d.source.Model], d)
		}
	}
	return out
}

// hasRoom says whether the device takes a part now.
func hasRoom(d *verifiedDevice, g allot.GPURequest) bool {
	milli, bytes := d.now()
	later, behind := d.then()
	return d.takes(g, milli, bytes) && d.takes(g, later, behind)
}

func freeOf(d *verifiedDevice) int64 { return min(d.left(d.now()), d.left(d.then())) }

// inPieces says whether the devices of one model would do in all.
func (m *x1Model) inPieces(f *verifiedForm, n *verifiedNode) bool {
	g := f.PodSets[0].Request.GPU
	suitable := make(map[string][]*verifiedDevice) // also those of which others use too much
	for i := range n.devices {
		if d := &n.devices[i]; len(n.unsuitableDevice(g, i)) == 0 {
			suitable[d.source.Model] = append(suitable[d.source.Model], d)
		}
	}
	for _, devices := range suitable {
		sum := int64(0)
		for _, d := range devices {
			sum += freeOf(d)
		}
		part := cmp.Or(g.Milli, int64(milliPerDevice))
		if g.Memory > 0 {
			part = (1000*g.Memory + devices[0].source.Memory - 1) / devices[0].source.Memory
		}
		if sum >= part*int64(deviceCount(g)) {
			return true
		}
	}
	return false
}

// checkNearest: no node fails a later predicate, or lacks a smaller part of what it
// needs.
func (m *x1Model) checkNearest(f *verifiedForm, told *allot.Nearest) string {
	type near struct {
		miss       verifiedMiss
		have, need int64
		id         string
	}
	var best *near
	request := &f.PodSets[0].Request
	nodes := slices.Clone(f.queue.pool.nodes)
	slices.SortFunc(nodes, func(a, b *verifiedNode) int {
		return cmp.Or(cmp.Compare(a.source.Rank, b.source.Rank), cmp.Compare(a.source.ID, b.source.ID))
	})
	for _, n := range nodes {
		if n.source.Lost {
			continue
		}
		one := near{n.miss(f, request), 0, 1, n.source.ID}
		switch one.miss.predicate {
		case placement.Resources:
			room := n.room(one.miss.resource)
			one.have, one.need = room.usable-max(room.now(), room.then()), request.Resources[one.miss.resource]
		case placement.Capacity:
			one.have, one.need = n.room(one.miss.resource).usable, request.Resources[one.miss.resource]
		case placement.FreeDevices:
			for _, devices := range m.able(n, request.GPU) {
				fit := int64(0)
				for _, d := range devices {
					if hasRoom(d, request.GPU) {
						fit++
					}
				}
				one.have = max(one.have, fit)
			}
			one.need = int64(deviceCount(request.GPU))
			if m.inPieces(f, n) {
				one.miss.predicate = placement.Fragmented
			}
		case placement.DeviceCount:
			for _, devices := range m.able(n, request.GPU) {
				one.have = max(one.have, int64(len(devices)))
			}
			one.need = int64(deviceCount(request.GPU))
		case placement.Model, placement.DeviceMemory, placement.TaskSlots, placement.CPUOnlySlots:
			one.need = 0 // not compared here
		}
		if best == nil || one.miss.predicate > best.miss.predicate ||
			one.miss.predicate == best.miss.predicate && one.need > 0 &&
				big.NewRat(one.need-one.have, one.need).Cmp(big.NewRat(best.need-best.have, best.need)) < 0 {
			best = &one
		}
	}
	switch {
	case best == nil || told == nil:
		if (best == nil) != (told == nil) {
			return fmt.Sprintf("nearest: want %v, got %v", best, told)
		}
	case told.Predicate != best.miss.predicate:
		return fmt.Sprintf("nearest: want %v, got %v", best, told)
	case best.need > 1 && (told.Node != best.id || told.Have != best.have || told.Need != best.need):
		return fmt.Sprintf("nearest: want %v, got %v", best, told)
	}
	return ""
}

// checkPieces: what is free in all, where the task may go, in whole parts, and on
// one node.
func (m *x1Model) checkPieces(f *verifiedForm, told *allot.Pieces) string {
	request := &f.PodSets[0].Request
	if told == nil {
		if deviceCount(request.GPU) == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(request.Resources)), func(n int64) bool { return n > 0 }) {
			return ""
		}
		return "no pieces"
	}
	want := allot.Pieces{Resource: told.Resource, InAll: f.queue.free(told.Resource)}
	for _, n := range f.queue.pool.nodes {
		miss := n.miss(f, request)
		if n.source.Lost || miss.predicate != 0 && miss.predicate.Static() || n.slots.usable < 1 || deviceCount(request.GPU) == 0 && n.cpuOnly.usable < 1 {
			continue
		}
		eligible, whole := int64(0), int64(0)
		if told.Resource == allot.GPU {
			for _, devices := range m.able(n, request.GPU) {
				for _, d := range devices {
					eligible += freeOf(d)
					if hasRoom(d, request.GPU) {
						whole += freeOf(d)
					}
				}
			}
		} else {
			room := n.room(told.Resource)
			eligible = max(0, room.usable-max(room.now(), room.then()))
			whole = eligible
		}
		want.Eligible, want.Whole, want.Largest = want.Eligible+eligible, want.Whole+whole, max(want.Largest, whole)
	}
	want.Node = told.Node
	if *told != want {
		return fmt.Sprintf("pieces: want %+v, got %+v", want, *told)
	}
	return ""
}

// checkGang: of whole devices, one a task, every task that fits finds a place.
func (m *x1Model) checkGang(f *verifiedForm, told allot.Reason, takes int) string {
	request := &f.PodSets[0].Request
	if takes == 0 || deviceCount(request.GPU) > 1 || request.GPU.Memory > 0 || request.GPU.Milli > 0 {
		return ""
	}
	fit, need := int64(0), minimum(f)[0]
	for _, n := range f.queue.pool.nodes {
		if n.source.Lost || n.miss(f, request).predicate != 0 {
			continue
		}
		free := func(room *verifiedRoom) int64 { return room.usable - max(room.now(), room.then()) }
		here := free(&n.slots)
		for resource, amount := range request.Resources {
			if amount > 0 {
				here = min(here, free(n.room(resource))/amount)
			}
		}
		if deviceCount(request.GPU) == 0 {
			here = min(here, free(&n.cpuOnly))
		} else {
			devices := int64(0)
			for _, of := range m.able(n, request.GPU) {
				for _, d := range of {
					if hasRoom(d, request.GPU) {
						devices++
					}
				}
			}
			here = min(here, devices)
		}
		fit += min(here, need) // slots without a bound would run over
	}
	if (fit < need) != (told.Code == allot.GangShort) {
		return fmt.Sprintf("gang: %d of %d fit: %v", fit, need, told)
	}
	if fit < need {
		m.seen[allot.GangShort]++
		if told.Have != fit || told.Need != need {
			return fmt.Sprintf("gang: %d of %d fit: %v", fit, need, told)
		}
	}
	return ""
}
