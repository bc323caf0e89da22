package allot

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/placement"
)

var (
	oracleStates = flag.Int("oracle.states", 20_000, "states that Solve is compared with the oracle on")
	oracleSeed   = flag.Uint64("oracle.seed", 1, "seed of the first of them")
)

// Every decision of Solve is the one that the rules, read plainly, come to:
// actions, their order, places and devices, and fair shares.
func TestSolveAgainstOracle(t *testing.T) {
	coverage := make(map[string]int)
	states := *oracleStates
	if testing.Short() {
		states /= 4
	}
	failures := 0
	for seed := *oracleSeed; seed < *oracleSeed+uint64(states); seed++ {
		if s := genDense(seed); !compareWithOracle(t, fmt.Sprint("seed ", seed), s, coverage) {
			if failures++; failures == 5 {
				t.Fatal("that is enough")
			}
		}
	}
	checkCoverage(t, coverage, states)
}

// The same for the states of the general generator, as far as the oracle
// knows what they contain.
func TestSolveAgainstOracleGeneral(t *testing.T) {
	coverage := make(map[string]int)
	drawn := rapid.Custom(genStillState)
	failures := 0
	for seed := range *oracleStates / 20 {
		s := plainState(drawn.Example(seed))
		if !compareWithOracle(t, fmt.Sprint("example ", seed), s, coverage) {
			if failures++; failures == 5 {
				t.Fatal("that is enough")
			}
		}
	}
}

// plainState takes away what the oracle does not know: alternatives, groups
// that need not all of their children, quotas per class, strategies that score
// nodes; and it makes granules coarse, as the oracle divides granule by granule.
func plainState(s *State) *State {
	plain := func(st *placement.Strategy) {
		if st.Scores() {
			*st = placement.Default
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		plain(&w.Strategy)
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
	if len(s.Pools) == 0 {
		s.Pools = []Pool{{ID: "p", Policy: Policy{Granules: map[string]int64{CPU: 500}}}}
	}
	return s
}

// compareWithOracle solves the state twice and reports a difference.
func compareWithOracle(t *testing.T, name string, s *State, coverage map[string]int) bool {
	t.Helper()
	p, err := Solve(s)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	pools := oracleSolve(s)
	for feature, has := range oracleFeatures(s, p, pools) { // counting has no order
		if has {
			coverage[feature]++
		}
	}
	for _, pool := range pools {
		want := actionTexts(pool.actions)
		if got := actionTexts(actionsOf(p, pool)); !slices.Equal(got, want) {
			t.Errorf("%s: actions are\n%s\n\nwant\n%s\n\nof %s\n%s", name,
				strings.Join(got, "\n"), strings.Join(want, "\n"), compact(s), p.String())
			return false
		}
	}
	if got, want := pendingIDs(p), oracleWaiting(pools); !slices.Equal(got, want) {
		t.Errorf("%s: %v wait, want %v\nof %s\n%s", name, got, want, compact(s), p.String())
		return false
	}
	for i, share := range p.Shares {
		for _, pool := range pools {
			q := pool.queue(share.Queue)
			if q == nil || pool.id != share.Pool || share.Class != "" || len(s.Queues) == 0 {
				continue
			}
			if fair := q.fair[share.Resource]; fair != share.FairShare {
				t.Errorf("%s: shares[%d] of %s %s is %d, want %d\nof %s\n%s", name, i, share.Queue, share.Resource, share.FairShare, fair, compact(s), p.String())
				return false
			}
		}
	}
	return true
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
		"claim started": 3, "terminating": 10, "blocked head": 20, "resize": 15, "displace": 3,
		"unclaim": 1, "fraction": 20, "device memory": 20, "elastic": 30, "waiting after the plan": 30,
		"order fair-share": 40, "order priority-first": 5, "order global": 5, "order deprived": 5,
		"order share-then-age": 5, "queueing strict-queue": 10, "queueing strict-pool": 10,
		"queueing backfill-preemptible": 10, "shares by-demand": 10, "shares max-min": 10,
		"strategy first": 10, "strategy spread": 10, "strategy bin-pack": 10,
	} {
		if coverage[name]*100 < percent*states {
			t.Errorf("%s: %d of %d states, less than %d%%", name, coverage[name], states, percent)
		}
	}
}
