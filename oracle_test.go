package allot

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// TestDenseCoverage: the states on which Solve is compared with the oracle have
// what they are said to have, often enough to matter.
func TestDenseCoverage(t *testing.T) {
	coverage, states, least := make(map[string]int), 0, 800
	if testing.Short() { // a share of an eighth of them says little, and all take a second
		least *= deep.Short
	}
	for seed := range deep.Seeds(t, least) {
		states++
		s := genUsage(seed)
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		for feature, has := range oracleFeatures(s, p, oracleSolve(s)) { // counting has no order
			if has {
				coverage[feature]++
			}
		}
	}
	checkCoverage(t, coverage, states)
}

// plainState takes away what the oracle does not know: alternatives, groups
// that need not all of their children, quotas per class, strategies that score
// nodes, work outside the nodes of its pool; and it makes granules coarse, as the
// oracle divides granule by granule.
func plainState(s *State) *State {
	plain := func(st *placement.Strategy) {
		if st.Scores() {
			*st = placement.Default
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		plain(&w.Strategy)
		w.Tasks = slices.DeleteFunc(w.Tasks, func(t Task) bool { return w.FormOf(t) != w.Form })
		w.LeavingForm = quota.Bound{}
		if w.Form > 0 {
			form := w.Alternatives[w.Form-1]
			w.PodSets, w.Groups, w.Form = form.PodSets, form.Groups, 0
			if form.Queue != "" {
				w.Queue = form.Queue
			}
		}
		w.Alternatives = nil
		for j := range w.Groups {
			w.Groups[j].Min = 0
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Resources = slices.DeleteFunc(q.Resources, func(r QueueResource) bool { return r.Class != "" })
	}
	for i := range s.Pools {
		p := &s.Pools[i].Policy
		p.Granules = map[string]int64{GPU: 1000, CPU: 500}
		plain(&p.GPUStrategy)
		plain(&p.CPUStrategy)
	}
	dropStrangers(s)
	if len(s.Pools) == 0 {
		s.Pools = []Pool{{ID: "p", Policy: Policy{Granules: map[string]int64{CPU: 500}}}}
	}
	return s
}

// dropStrangers takes away the tasks that stand outside the nodes of their pool (S7):
// the oracle decides each pool by what stands in it.
func dropStrangers(s *State) {
	for _, p := range oraclePools(s) {
		for _, w := range p.work {
			w.source.Tasks = slices.DeleteFunc(w.source.Tasks, func(t Task) bool {
				return !slices.ContainsFunc(p.nodes, func(n *Node) bool { return n.ID == t.Node })
			})
		}
	}
}

// actionsOf are the actions of one pool; no rule orders pools.
func actionsOf(p *Plan, pool *oraclePool) []Action {
	return slices.DeleteFunc(slices.Clone(p.Actions), func(a Action) bool {
		return !slices.ContainsFunc(pool.work, func(w *oracleWork) bool { return w.source.ID == a.Workload })
	})
}

// actionTexts are the actions as text: first what is given up, task by task as
// no rule groups or orders it, then what starts, in its order.
func actionTexts(actions []Action) []string {
	var lost, started []string
	for _, a := range actions {
		text := fmt.Sprintf("%v %s/%s", a.Kind, a.Queue, a.Workload)
		if a.Kind == Start || a.Kind == Resize {
			started = append(started, fmt.Sprint(text, " ", a.Tasks))
			continue
		}
		for _, task := range a.Tasks {
			lost = append(lost, fmt.Sprint(text, " ", task))
		}
	}
	slices.Sort(lost)
	return append(lost, started...)
}

func pendingIDs(p *Plan) (ids []string) {
	for _, w := range p.Pending {
		ids = append(ids, w.Workload)
	}
	return ids
}

// oracleWaiting are the workloads that do not run at their minimum.
func oracleWaiting(pools []*oraclePool) (ids []string) {
	for _, p := range pools {
		for _, w := range p.work {
			if !w.source.Ending && !w.runsMinimum() {
				ids = append(ids, w.source.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func compact(s *State) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// oracleFeatures are what a state and its decision have that the comparison
// must have met.
func oracleFeatures(s *State, p *Plan, pools []*oraclePool) map[string]bool {
	features := make(map[string]bool)
	for i := range s.Workloads {
		workloadFeatures(&s.Workloads[i], features)
	}
	for _, a := range p.Actions {
		features[a.Kind.String()] = true
		features["start of a gang"] = features["start of a gang"] || a.Kind == Start && len(a.Tasks) > 1
	}
	for _, pool := range pools {
		maps.Copy(features, pool.features)
		binding := 0
		for _, r := range pool.resources {
			short := func(q *oracleQueue) bool { return pool.demand(q, r, oracleAnyWork) > q.fair[r] }
			if pool.divided(r) && slices.ContainsFunc(pool.queues, short) {
				binding++
			}
		}
		features["two binding resources"] = features["two binding resources"] || binding > 1
		for _, q := range pool.queues {
			features["depth 3"] = features["depth 3"] || len(q.path()) > 2
		}
		features["order "+pool.policy.Order.String()] = true
		features["queueing "+pool.policy.Queueing.String()] = true
		features["shares "+pool.policy.Shares.String()] = true
		features["strategy "+pool.policy.GPUStrategy.String()] = true
	}
	features["waiting after the plan"] = len(p.Pending) > 0
	return features
}

// checkCoverage prints what the states had and demands enough of it.
func checkCoverage(t *testing.T, coverage map[string]int, states int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(coverage)) {
		t.Logf("%-32s %6.2f%%", name, float64(coverage[name]*100)/float64(states))
	}
	for name, percent := range map[string]int{ // each is judged by itself
		"gang": 30, "start of a gang": 10, "depth 3": 15, "two binding resources": 10, "claimed": 10,
		"claim started": 3, "claimed what leaves": 3, "terminating": 10, "blocked head": 20, "resize": 15, "displace": 3,
		"unclaim": 1, "fraction": 20, "device memory": 20, "elastic": 30, "waiting after the plan": 30,
		"order fair-share": 40, "order priority-first": 5, "order global": 5, "order deprived": 5,
		"order share-then-age": 5, "queueing strict-queue": 10, "queueing strict-pool": 10,
		"queueing backfill-preemptible": 10, "usage": 10, "shares by-demand": 10, "shares max-min": 10,
		"strategy first": 10, "strategy spread": 10, "strategy bin-pack": 10,
	} {
		if coverage[name]*100 < percent*states {
			t.Errorf("%s: %d of %d states, less than %d%%", name, coverage[name], states, percent)
		}
	}
}
