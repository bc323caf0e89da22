package allot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// laws are those of the package and those that need Verify.
var laws = append([]allot.Law{
	{Rule: "P1, P2, G1, Q2, Q3, Q5, Q8, Q10, S4, S5, S7, X1", What: "Verify finds no broken rule", Broken: func(j *allot.Judged) error { return verify.Plan(j.State, j.Plan) }},
}, allot.Laws...)

// rarely is how many states there are, beyond those of an ordinary run, for one
// that may break a law in a deep run, which tells it and goes on: a state as rare
// as that is a case to be reported and mended, not a reason to stop all work.
const rarely = 2000

// TestLaws draws the states of every family, solves each of them once, and puts
// state and plan to all laws that are meant for the family. A broken law fails a
// test of its own name, with the state made as small as it goes.
func TestLaws(t *testing.T) {
	for _, family := range allot.Families {
		t.Run(family.Name, func(t *testing.T) {
			met, broken, states := judge(t, family)
			t.Log(met)
			for _, kind := range family.Covers {
				if met[kind] == 0 && !testing.Short() {
					t.Errorf("no plan has: %s", kind)
				}
			}
			for i, law := range laws {
				if !isFor(law, family) {
					continue
				}
				t.Run(law.Rule+": "+law.What, func(t *testing.T) {
					switch b := broken[i]; {
					case b == nil:
					case b.index < family.States || b.times*rarely > states:
						t.Error(b.tell(law))
					default:
						t.Logf("deep: %d of %d states of family %s break %s: %s\n%s", b.times, states, family.Name, law.Rule, law.What, b.tell(law))
					}
				})
			}
		})
	}
}

func isFor(law allot.Law, family allot.Family) bool {
	return law.Of == nil || slices.Contains(law.Of, family.Name)
}

// A brokenLaw is the first state of a family whose plan breaks a law.
type brokenLaw struct {
	judged *allot.Judged
	err    error
	index  int // of the state among those of its run
	times  int
}

// judge counts by kind the actions of the plans, and says which laws are broken,
// and how many states it looked at.
func judge(t *testing.T, family allot.Family) (met map[string]int, broken []*brokenLaw, states int) {
	const enough = 100
	met, broken = make(map[string]int), make([]*brokenLaw, len(laws))
	failures := 0
	for seed := range deep.Seeds(t, family.States) {
		s := family.Draw(seed)
		p, err := solveOrRecover(s)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, scenario.Format(s))
		}
		for _, a := range p.Actions {
			met[a.Kind.String()]++
			met["after"] += len(a.After)
		}
		j := &allot.Judged{State: s, Plan: p, Seed: seed}
		for i, law := range laws {
			if !isFor(law, family) {
				continue
			}
			if err := law.Broken(j); err != nil {
				failures++
				if broken[i] == nil {
					broken[i] = &brokenLaw{judged: j, err: err, index: states}
				}
				broken[i].times++
			}
		}
		if states++; failures >= enough {
			break
		}
	}
	return met, broken, states
}

// solveOrRecover makes an error of a panic, so that its seed is told.
func solveOrRecover(s *allot.State) (p *allot.Plan, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	return allot.Solve(s)
}

// tell is the broken law with the smallest state that shows it.
func (b *brokenLaw) tell(law allot.Law) string {
	seed := b.judged.Seed
	small, err := scenario.Minimise(b.judged.State, func(s *allot.State, p *allot.Plan) bool {
		return law.Broken(&allot.Judged{State: s, Plan: p, Seed: seed}) != nil
	}, 2000)
	if err != nil {
		return fmt.Sprintf("%d times, first at seed %d: %v\nnot made smaller: %v\n%s", b.times, seed, b.err, err, scenario.Format(b.judged.State))
	}
	why := law.Broken(&allot.Judged{State: small.State, Plan: small.Plan, Seed: seed})
	return fmt.Sprintf("%d times, first at seed %d; smallest:\n%v\n%s%s", b.times, seed, why, scenario.Format(small.State), small.Plan.String())
}

// A spoiler makes of a state and its plan something that some laws must refuse.
// It may write to what it is given.
type spoiler struct {
	name  string
	spoil func(s *allot.State, p *allot.Plan)
}

var spoilers = []spoiler{
	{"the first action is missing", func(_ *allot.State, p *allot.Plan) { p.Actions = p.Actions[min(1, len(p.Actions)):] }},
	{"every action loses its last task", func(_ *allot.State, p *allot.Plan) {
		for i := range p.Actions {
			p.Actions[i].Tasks = p.Actions[i].Tasks[:len(p.Actions[i].Tasks)-1]
		}
		p.Actions = slices.DeleteFunc(p.Actions, func(a allot.Action) bool { return len(a.Tasks) == 0 })
	}},
	{"every queue has less", func(s *allot.State, _ *allot.Plan) {
		for i := range s.Queues {
			s.Queues[i].MaxWorkloads = quota.Of(0)
			for k := range s.Queues[i].Resources {
				s.Queues[i].Resources[k].Limit, s.Queues[i].Resources[k].Quota = quota.Of(0), quota.Of(0)
			}
		}
	}},
	{"all that starts is on one place", func(_ *allot.State, p *allot.Plan) {
		var first *allot.Placement
		for i := range p.Actions {
			for k := range p.Actions[i].Tasks {
				switch task := &p.Actions[i].Tasks[k]; {
				case p.Actions[i].Kind != allot.Start:
				case first == nil:
					first = task
				case len(task.Devices) == len(first.Devices):
					task.Node, task.Devices = first.Node, first.Devices
				}
			}
		}
	}},
	{"nobody waits for who leaves", func(_ *allot.State, p *allot.Plan) {
		for i := range p.Actions {
			p.Actions[i].After = nil
		}
	}},
	{"reasons and shares are missing", func(_ *allot.State, p *allot.Plan) { p.Pending, p.Shares = nil, nil }},
	{"the plan took too long", func(_ *allot.State, p *allot.Plan) { p.Work.Stopped = true }},
}

// TestLawsBite: of every law there is a state and a spoiled plan that breaks it,
// so that none of them can pass for saying nothing.
func TestLawsBite(t *testing.T) {
	const states = 60
	bites := make([]map[string]int, len(laws))
	for i := range laws {
		bites[i] = make(map[string]int)
	}
	for _, family := range allot.Families {
		for seed := range uint64(states) {
			for _, spoiled := range spoilers {
				s := copyState(family.Draw(seed))
				p, err := allot.Solve(s)
				if err != nil {
					t.Fatal(err)
				}
				spoiled.spoil(s, p)
				for i, law := range laws {
					if isFor(law, family) && len(bites[i]) == 0 && law.Broken(&allot.Judged{State: s, Plan: p, Seed: seed}) != nil {
						bites[i][spoiled.name]++
					}
				}
			}
		}
	}
	for i, law := range laws {
		t.Logf("%s: %s: %v", law.Rule, law.What, bites[i])
		if len(bites[i]) == 0 {
			t.Errorf("%s: %s: no spoiled plan breaks it", law.Rule, law.What)
		}
	}
}

// Lives with promises (B4, B5, B7): what is solved from time to time is judged by [verify.Plan], which
// knows what was promised before, and a second solve with nothing done between changes no
// promise (B7, M5, B13). Work ends when it said, earlier or later, nodes are lost, and more comes.
func TestLivesOfPromises(t *testing.T) {
	made, changed := 0, make(map[allot.PromiseChange]int)
	for seed := range deep.Seeds(t, 60) {
		s, d := drawnTimed(seed), rand.New(rand.NewPCG(seed, 31))
		for step := range 6 {
			plan, err := allot.Solve(s)
			if err == nil {
				err = verify.Plan(s, plan)
			}
			if err != nil {
				t.Fatalf("seed %d, step %d: %v\n%s", seed, step, err, tellPromises(s, plan))
			}
			for i := range plan.Reservations {
				made++
				changed[plan.Reservations[i].Change]++
			}
			after, err := allot.Apply(s, plan)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := allot.Solve(after); err != nil || anyMoved(again) != "" {
				t.Errorf("seed %d, step %d: %v, with nothing done between %s\n%s", seed, step, err, anyMoved(again), tellPromises(s, plan))
				break
			}
			s = passTime(d, after, plan, step)
		}
	}
	t.Log(made, "promises told,", changed)
	for c := allot.PromiseKept; c <= allot.PromiseWithdrawn; c++ {
		if changed[c] == 0 && !testing.Short() {
			t.Errorf("none was %v", c)
		}
	}
}

// drawnTimed is a state of the family with times.
func drawnTimed(seed uint64) *allot.State {
	at := slices.IndexFunc(allot.Families, func(f allot.Family) bool { return f.Name == "timed" })
	return allot.Families[at].Draw(seed)
}

// anyMoved is what a plan does to promises but to keep them.
func anyMoved(p *allot.Plan) string {
	for i := range p.Reservations {
		if r := &p.Reservations[i]; r.Change != allot.PromiseKept {
			return fmt.Sprintf("the promise of %s is %v", r.Workload, r.Change)
		}
	}
	return ""
}

func tellPromises(s *allot.State, p *allot.Plan) string {
	var b strings.Builder
	b.WriteString(scenario.Format(s))
	if p != nil {
		for i := range p.Reservations {
			fmt.Fprintf(&b, "%+v\n", p.Reservations[i])
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// passTime lets time pass: some of what runs ends, a node is lost, more work comes.
func passTime(d *rand.Rand, s *allot.State, plan *allot.Plan, step int) *allot.State {
	before := s.Now
	if s.Now = s.Now.Add(time.Duration(d.IntN(600)) * time.Second); d.IntN(2) == 0 && !plan.NextAt.IsZero() {
		s.Now = plan.NextAt
	}
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool {
		runs := slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Running })
		return runs && d.IntN(4) == 0
	})
	if n := len(s.Nodes); n > 0 && d.IntN(8) == 0 {
		s.Nodes[d.IntN(n)].Cordoned = d.IntN(2) == 0
	}
	for i := range 1 + d.IntN(2) {
		if len(s.Workloads) == 0 {
			break
		}
		w := s.Workloads[d.IntN(len(s.Workloads))]
		w.ID, w.Submitted, w.Tasks, w.Reserved = fmt.Sprintf("more%d-%d", step, i), before.Add(time.Second), nil, nil
		w.WaitingSince, w.PartialSince = time.Time{}, time.Time{}
		if d.IntN(2) == 0 {
			w.Duration = quota.Of(int64(60 * (1 + d.IntN(20))))
			w.MinDuration = min(w.MinDuration, w.Duration.Amount())
		}
		s.Workloads = append(s.Workloads, w)
	}
	return s
}

// With reservations off every plan is what it is where nobody says how long anything takes, whatever the
// other knobs of reserving say (B13): its actions, reasons and shares. What it foretells of ends aside.
func TestB13ReservationsOff(t *testing.T) {
	started := 0
	for seed := range deep.Seeds(t, 600) {
		off, bare := drawnTimed(seed), drawnTimed(seed)
		for i := range off.Pools {
			off.Pools[i].Policy.Reserve.Backfill = queue.NoBackfill
			bare.Pools[i].Policy.Reserve = allot.ReservePolicy{}
		}
		for i := range bare.Workloads {
			w := &bare.Workloads[i]
			w.Duration, w.TimeLimit, w.MinDuration, w.FixedWork, w.WorkDone = quota.Bound{}, quota.Bound{}, 0, 0, 0
		}
		got, want := untimed(t, off), untimed(t, bare)
		if started += len(want.Actions); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%sand where nothing is said of time\n%s\n%s", seed, got, want, scenario.Format(off))
		}
	}
	if started < 100 && !testing.Short() {
		t.Errorf("the plans have %d actions", started)
	}
}

// untimed is the plan of a state without what it foretells.
func untimed(t *testing.T, s *allot.State) *allot.Plan {
	t.Helper()
	p, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	p.NextAt = time.Time{}
	return p
}

// Promises change nothing of who may be evicted, but by B6 (B13): in lives in which nobody may stand behind a promise,
// the rules let go what a plan evicts for the same preemptors where nothing is promised, all else in the plan being as it is.
func TestB13WhoMayBeEvicted(t *testing.T) {
	evicted := 0
	for seed := range deep.Seeds(t, 250) {
		s, d := drawnTimed(seed), rand.New(rand.NewPCG(seed, 41))
		for i := range s.Pools {
			r := &s.Pools[i].Policy.Reserve
			r.Evictable, r.TrustDurations = false, false
		}
		for step := range 4 {
			p, err := allot.Solve(s)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Actions {
				if k := p.Actions[i].Kind; k == allot.Evict || k == allot.Shrink {
					evicted++
				}
			}
			for _, v := range unpromised(t, s, p) {
				t.Errorf("seed %d, step %d: %v\n%s%s", seed, step, v, scenario.Format(s), p)
			}
			after, err := allot.Apply(s, p)
			if err != nil {
				t.Fatal(err)
			}
			s = passTime(d, after, p, step)
		}
	}
	t.Logf("%d were evicted or shrunk", evicted)
	if evicted < 10 && !testing.Short() {
		t.Errorf("%d were evicted or shrunk", evicted)
	}
}

// unpromised is what is wrong with the evictions of a plan where its policies promise nothing.
func unpromised(t *testing.T, s *allot.State, p *allot.Plan) (wrong []verify.Violation) {
	t.Helper()
	s, bare := copyState(s), *p
	for i := range s.Pools {
		s.Pools[i].Policy.Reserve = allot.ReservePolicy{}
	}
	for i := range s.Workloads {
		s.Workloads[i].Reserved = nil
	}
	bare.Reservations = nil
	var broken *verify.Error
	if errors.As(verify.Plan(s, &bare), &broken) {
		wrong = slices.DeleteFunc(broken.Violations, func(v verify.Violation) bool {
			return !slices.Contains([]string{"M1", "M2", "M6", "M7", "B6", "B9", "E1", "E8", "R1", "R2", "R3", "R4", "R5"}, v.Rule)
		})
	}
	return wrong
}

// TestHostilePlans: whatever a plan names, and whenever it says that something ends, Plan of
// verify and Apply answer; and a plan that names what is not there is refused by both.
func TestHostilePlans(t *testing.T) {
	refused := 0
	for _, family := range allot.Families {
		for seed := range deep.Seeds(t, 90) {
			s := family.Draw(seed)
			p, err := allot.Solve(s)
			if err != nil {
				continue
			}
			d := rand.New(rand.NewPCG(seed, 1))
			for range 40 {
				hostile, nowhere := spoilt(d, s, p)
				judged := verify.Plan(s, hostile)
				if _, err := allot.Apply(s, hostile); nowhere && (judged == nil || err == nil) {
					t.Fatalf("%s, seed %d: the plan names what is not there: verify says %v, Apply %v", family.Name, seed, judged, err)
				}
				if judged != nil {
					refused++
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no plan is refused")
	}
}

// spoilt is the plan with one thing of it made another, and whether it names what is not there then.
func spoilt(d *rand.Rand, s *allot.State, p *allot.Plan) (hostile *allot.Plan, nowhere bool) {
	q := *p
	q.Actions, q.Reservations = slices.Clone(p.Actions), slices.Clone(p.Reservations)
	names := []string{"", "nowhere"}
	for _, w := range s.Workloads {
		names = append(names, w.ID)
	}
	name := names[d.IntN(len(names))]
	if len(q.Actions) > 0 && d.IntN(2) == 0 {
		at := d.IntN(len(q.Actions))
		if gives := slices.IndexFunc(q.Actions, func(a allot.Action) bool { return a.Kind == allot.Evict || a.Kind == allot.Shrink }); gives >= 0 {
			at = gives
		}
		return &q, spoil(d, s, &q.Actions[at], name)
	}
	if len(q.Reservations) == 0 {
		q.Reservations = []allot.PlannedReservation{{Workload: name}}
	}
	spoilPromise(d, s, &q.Reservations[d.IntN(len(q.Reservations))], name)
	return &q, false
}

// spoil makes one thing of an action another, and says whether it names what is not there then.
func spoil(d *rand.Rand, s *allot.State, a *allot.Action, name string) (nowhere bool) {
	switch d.IntN(12) {
	case 0:
		a.Behind = name
	case 1:
		a.Reason.Code, a.Reason.Workload = allot.Behind, name
	case 2:
		a.Workload = name
		return name == "nowhere"
	case 3:
		a.Form = d.IntN(5) - 2
	case 4:
		a.Kind = allot.ActionKind(d.IntN(10))
	case 5:
		a.Until = s.Now.AddDate(d.IntN(900)-400, 0, 0)
	case 6:
		a.Tasks = []allot.Placement{{PodSet: podSetOrNowhere(d, s), Index: d.IntN(9) - 4, Node: nodeOrNowhere(d, s), Devices: []int{d.IntN(80) - 10}}}
		return a.Tasks[0].Node == "nowhere"
	default:
		return spoilTask(d, s, a)
	}
	return false
}

// spoilTask makes one place of an action another.
func spoilTask(d *rand.Rand, s *allot.State, a *allot.Action) (nowhere bool) {
	if len(a.Tasks) == 0 {
		return false
	}
	a.Tasks = slices.Clone(a.Tasks)
	switch task := &a.Tasks[d.IntN(len(a.Tasks))]; d.IntN(4) {
	case 0:
		task.PodSet = podSetOrNowhere(d, s)
		return task.PodSet == "nowhere"
	case 1:
		task.Index = d.IntN(9) - 4
	case 2:
		task.Node = nodeOrNowhere(d, s)
		return task.Node == "nowhere"
	default:
		task.Devices = []int{d.IntN(80) - 10}
	}
	return false
}

func nodeOrNowhere(d *rand.Rand, s *allot.State) string {
	if len(s.Nodes) == 0 || d.IntN(3) == 0 {
		return "nowhere"
	}
	return s.Nodes[d.IntN(len(s.Nodes))].ID
}

func podSetOrNowhere(d *rand.Rand, s *allot.State) string {
	if len(s.Workloads) == 0 || d.IntN(3) == 0 {
		return "nowhere"
	}
	w := s.Workloads[d.IntN(len(s.Workloads))]
	if len(w.PodSets) == 0 {
		return ""
	}
	return w.PodSets[d.IntN(len(w.PodSets))].Name
}

func spoilPromise(d *rand.Rand, s *allot.State, r *allot.PlannedReservation, name string) {
	switch d.IntN(8) {
	case 0:
		r.Workload = name
	case 1:
		r.Change = allot.PromiseChange(d.IntN(9))
	case 2:
		r.Cause = allot.Reason{Code: allot.Code(d.IntN(60)), Workload: name}
	case 3:
		r.Promise.Form = d.IntN(5) - 2
	case 4:
		r.Promise.Rule = allot.PromiseRule(d.IntN(4))
	case 5:
		r.Promise.Tasks = []allot.Placement{{PodSet: podSetOrNowhere(d, s), Index: d.IntN(9) - 4, Node: nodeOrNowhere(d, s), Devices: []int{d.IntN(80) - 10, 0, 0}}}
	case 6:
		r.Promise.At = s.Now.AddDate(d.IntN(9000)-4000, 0, 0)
	case 7:
		r.Promise.Tasks = nil
	}
}
