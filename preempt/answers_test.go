package preempt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/preempt"
)

// What an Evaluator tells beside the victims: who is entitled, why each victim goes,
// what became of the others, and why there is no room.

// R1: by which rights a preemptor may reclaim as things stand, and whether it
// stays within its lines at every level (R8).
func TestEntitled(t *testing.T) {
	for _, row := range []struct {
		why, scene string
		share      bool
		want       []preempt.Mode
		within     bool
	}{
		{"within quota share brings nothing more", `
			nodes 4 | queue b quota=2 share=3 | wait b/w gpu=2`, true, []preempt.Mode{byQuota}, true},
		{"beyond quota, within fair share", `
			nodes 4 | queue b quota=2 share=3 | wait b/w gpu=3`, true, []preempt.Mode{byShare}, true},
		{"where the policy knows no reclaim by share", `
			nodes 4 | queue b quota=2 share=3 | wait b/w gpu=3`, false, nil, true},
		{"beyond both", `
			nodes 4 | queue b quota=2 share=3 | wait b/w gpu=4`, true, nil, false},
		{"a queue above is beyond its quota: both may serve", `
			nodes 4 | queue d quota=1 share=2 | queue d/b quota=2 | wait d/b/w gpu=2`, true,
			[]preempt.Mode{byQuota, byShare}, true},
		{"a queue above is beyond quota and fair share", `
			nodes 4 | queue d quota=1 share=1 | queue d/b quota=2 | wait d/b/w gpu=2`, false,
			[]preempt.Mode{byQuota}, false},
		{"what runs in the queue counts", `
			nodes 4 | queue b quota=2 | run b/v gpu=1 | wait b/w gpu=2`, true, nil, false},
		{"all that is requested counts", `
			nodes 4 | cpus 9 | queue b quota=2,1 | wait b/w gpu=2 cpu=2`, true, nil, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newScene(row.scene)
			if got := s.room.Rights(s.preemptor, row.share); !slices.Equal(got, row.want) {
				t.Errorf("entitled by %v, want %v", got, row.want)
			}
			if s.preemptor.Entitled != row.within {
				t.Errorf("within its lines: %t", s.preemptor.Entitled)
			}
		})
	}
}

// The line of a leaf is LF, that of a queue above the larger of quota and fair
// share; what is not divided has none, and never stands against anybody (Q1).
func TestLine(t *testing.T) {
	s := newScene(`nodes 4 | cpus 4 | queue d quota=3,1 share=2,2 | queue d/q quota=2,1 share=1,1 lf=4,4 | wait d/q/w gpu=1`)
	for _, row := range []struct {
		queue, resource int32
		leaf            bool
		want            int64
	}{{1, 0, true, 4000}, {1, 0, false, 2000}, {0, 0, false, 3000}, {0, 1, false, 2000}} {
		if line, divided := s.room.Entitlement(row.queue, row.resource, row.leaf); line != row.want || !divided {
			t.Errorf("%+v: %d, %t", row, line, divided)
		}
	}
	if _, divided := s.room.Entitlement(0, 2, false); divided {
		t.Error("a resource that there is not is divided")
	}
	c := s.config
	c.Divided = []bool{true, false}
	s.room.Redraw(c)
	if _, divided := s.room.Entitlement(0, 1, false); divided || !s.room.Entitled(1, chargeOf(s.requestOf(&line{said: map[string]string{"cpu": "99"}}), 1)) {
		t.Error("what is not divided binds")
	}
}

// X2: of each victim of a reclaim the side, the resource that decided it, and the
// uses before and after against the lines.
func TestCases(t *testing.T) {
	s := newScene(`
		nodes 4 | queue d quota=1 share=2 | queue d/q | queue b quota=2
		run d/q/x gpu=1 | run d/q/y gpu=1 | run d/q/z gpu=1 | run b/v gpu=1 | wait b/w gpu=1`)
	want := preempt.Justification{Subtree: 0, PreemptorSubtree: 2, Resource: 0,
		Before: 3000, After: 2000, Entitlement: 1000, OwnBefore: 1000, OwnAfter: 2000, OwnEntitlement: 2000}
	for mode, line := range map[preempt.Mode]int64{byQuota: 1000, byShare: 2000} { // each by itself
		victims, p, _ := s.find(t, mode)
		if !slices.Equal(victims, []string{"z"}) || p.Mode != mode {
			t.Fatal(victims, p.Mode)
		}
		want.Victim, want.Mode, want.Entitlement = p.Justifications[0].Victim, mode, line
		if diff := cmp.Diff(want, p.Justifications[0]); diff != "" {
			t.Errorf("mode %v: %s", mode, diff)
		}
	}
	s = newScene(`nodes 1 | queue a quota=1 | run a/x gpu=1 | wait a/w gpu=1 priority=1`)
	if _, p, _ := s.find(t, lower); p.Justifications[0].Subtree != -1 || p.Justifications[0].PreemptorSubtree != -1 {
		t.Errorf("sides of a preemption: %+v", p.Justifications[0])
	}
}

// Of two victims the second case is told with the first gone, and in the resource
// that the victim holds.
func TestCasesAreReadInTurn(t *testing.T) {
	s := newScene(`
		nodes 2 | cpus 2 | queue a | queue b quota=1,2
		run a/x gpu=2 priority=2 | run a/y cpu=2 priority=1 | wait b/w gpu=1 cpu=2`)
	victims, p, _ := s.find(t, byQuota)
	if strings.Join(victims, " ") != "y x" {
		t.Fatal(victims)
	}
	for i, want := range []struct{ resource, before, after int64 }{{1, 2000, 0}, {0, 2000, 0}} {
		if c := p.Justifications[i]; int64(c.Resource) != want.resource || c.Before != want.before || c.After != want.after {
			t.Errorf("case %d: %+v", i, c)
		}
	}
}

// rankText asks why a proposal is as it is in one way, and tells fates by name.
func rankText(s *scene, p *preempt.Proposal, mode preempt.Mode, near int) string {
	ranking := s.room.Rank(s.preemptor, p, mode, near)
	var text []string
	for _, u := range ranking.Units {
		text = append(text, fmt.Sprintf("%s:%v", s.name(u.Unit), u.Fate))
	}
	for _, o := range ranking.Others {
		text = append(text, fmt.Sprintf("%d×%v", o.Units, o.Fate))
	}
	return strings.Join(text, " ")
}

// What became of each unit, by the rule that decided it, in the order of victims.
func TestFates(t *testing.T) {
	for _, row := range []struct {
		why, scene string
		mode       preempt.Mode
		want       string
	}{
		{"M3: those after the last are not needed", `
			nodes 3 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, byQuota, "z:taken y:not-needed x:not-needed"},
		{"M3: another place costs a better priority", `
			nodes 1 1 | queue a | queue b quota=1
			run a/x gpu=1 on=0 priority=1 | run a/y gpu=1 on=1 priority=2 | wait b/w gpu=1`, byQuota, "x:taken y:place-harms"},
		{"M3: loses more work", `
			nodes 1 1 | queue a | queue b quota=1
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 lost=9 | wait b/w gpu=1`, byQuota, "y:place-loses x:taken"},
		{"M3: is of more workloads", `
			nodes 2 2 | queue a | queue b quota=2
			run a/u+1 gpu=1 on=1 | run a/v+1 gpu=1 on=1
			run a/x gpu=1 on=0 | run a/x+1 gpu=1 on=0 | wait b/w gpu=2`, byQuota,
			"x+1:taken v+1:place-more u+1:place-more x:taken"},
		{"M3: comes later in the order", `
			nodes 1 1 | queue a | queue b quota=1
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 | wait b/w gpu=1`, byQuota, "y:taken x:place-later"},
		{"M3: clearing its place is not enough", `
			nodes 2 1 | queue a | queue b quota=2
			run a/x gpu=2 on=0 | run a/y gpu=1 on=1 | wait b/w gpu=2`, byQuota, "y:place-short x:taken"},
		{"M1: its minimum runtime is not over", `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 reclaim-from=1001 | wait b/w gpu=1`, byQuota, "y:min-runtime x:taken"},
		{"M7: its owner's budget is spent", `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 owner=0 | wait b/w gpu=1`, byQuota, "y:budget x:taken"},
		{"R2: its side is within its line", `
			nodes 2 | queue a | queue c quota=1 | queue b quota=1
			run a/x gpu=1 | run c/y gpu=1 | wait b/w gpu=1`, byQuota, "x:taken y:within-line"},
		{"R9: its leaf's line covers it", `
			nodes 2 | queue a | queue d | queue d/q quota=1 | queue b quota=1
			run a/x gpu=1 | run d/q/y gpu=1 | wait b/w gpu=1`, byQuota, "x:taken y:protected"},
		{"R4: it would leave its side below the line", `
			nodes 3 | pool spare | queue a | queue c quota=1 | queue b quota=1
			run a/x gpu=1 | run c/g gpu=1 tasks=2 | wait b/w gpu=1`, byQuota, "x:taken g:straddling"},
		{"R5: its side would not be the more saturated", `
			nodes 7 | pool margin=2 | queue a share=1 | queue c share=2 | queue b share=1
			run a/u gpu=1 | run a/v gpu=1 | run a/x gpu=1 | run c/y gpu=2 | run c/z gpu=2
			wait b/w gpu=1`, byShare, "x:taken v:not-needed u:not-needed z:margin y:margin"},
		{"R1: with it there the other side is beyond its own line", `
			nodes 3 | queue a | queue d quota=1 | queue d/q quota=1 | queue d/r
			run d/r/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait d/q/w gpu=1`, byQuota, "z:own-side-full y:own-side-full x:taken"},
		{"E1: its priority is not lower", `
			nodes 2 | queue a quota=2
			run a/x gpu=1 | run a/y gpu=1 priority=5 | wait a/w gpu=1 priority=5`, lower, "x:taken y:priority"},
		{"E7: its protection is more than the preemptor's", `
			nodes 4 | queue a quota=1
			run a/x gpu=1 priority=3 | run a/y gpu=2 priority=2 | wait a/w gpu=2 priority=5`, lower, "y:taken x:not-needed"},
		{"what is out of the question is counted", `
			nodes 4 | cpus 9 | queue a | queue b quota=3
			run a/x gpu=1 | run a/n gpu=1 fixed | run a/c cpu=1 | run b/v gpu=1 | run b/w gpu=1
			wait b/w+1 gpu=1`, byQuota, "x:taken 1×holds-nothing 1×same-queue 1×never-preempted 1×itself"},
		{"E1: so is who is of another queue", `
			nodes 2 | queue a quota=2 | queue b
			run a/x gpu=1 | run b/y gpu=1 | wait a/w gpu=1 priority=5`, lower, "x:taken 1×other-queue"},
		{"C1: and what does not all run", `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 rooted | wait a/w gpu=2`, move, "x:moved 1×immovable"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newScene(row.scene)
			victims, p, _ := s.find(t, row.mode)
			before := s.world()
			if got := rankText(s, &p, p.Mode, 9); got != row.want {
				t.Errorf("takes %v:\n%s\nwant\n%s", victims, got, row.want)
			}
			if s.world() != before {
				t.Error("Rank changes the world")
			}
		})
	}
}

// What goes beside a reclaim (R11), and what moves beside victims (M10), is ranked in the
// order of its own way, and told in the other way's.
func TestFatesOfSeveralWays(t *testing.T) {
	for _, row := range []struct {
		why, scene string
		mode       preempt.Mode
		moves      int
		ways       map[preempt.Mode]string
	}{
		{"R11: own ones by priority, the others with these gone", `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/l gpu=1 priority=1 | run b/x gpu=1 | run b/y gpu=1 | run b/z gpu=1
			wait a/w gpu=2 priority=2`, both, 0, map[preempt.Mode]string{
			lower:   "l:taken 1×taken 2×other-queue",
			byQuota: "z:taken y:not-needed x:not-needed 1×taken",
		}},
		{"M10: what moves is protected, and stands in the place", `
			nodes 2 3 | queue a | queue b quota=2 | queue c quota=3
			run a/x gpu=1 on=0 | run c/p gpu=1 on=0 | run c/q gpu=2 on=1 | wait b/w gpu=2`, byQuota, 1, map[preempt.Mode]string{
			byQuota: "x:taken q:within-line p:moved",
			move:    "x:taken p:moved 1×elsewhere",
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newScene(row.scene)
			s.preemptor.Relocations = row.moves
			victims, p, _ := s.find(t, row.mode)
			before := s.world()
			for mode, want := range row.ways { // each is judged by itself, in no order
				if got := rankText(s, &p, mode, 9); got != want {
					t.Errorf("takes %v, way %d:\n%s\nwant\n%s", victims, mode, got, want)
				}
			}
			if s.world() != before {
				t.Error("Rank changes the world")
			}
		})
	}
}

// R8: how the lines of its leaf cover each unit, walked in standing.
func TestProtection(t *testing.T) {
	for _, row := range []struct{ why, scene, want string }{
		{"up to LQ, then up to LF", `
			nodes 4 | queue a quota=1 lf=2 | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | run a/zz gpu=1 | wait b/w gpu=1`,
			"zz:none z:none y:by-share x:by-quota"},
		{"what does not fit is passed over", `
			nodes 4 | queue a quota=2 | queue b quota=1
			run a/x gpu=1 priority=3 | run a/y gpu=2 priority=2 | run a/z gpu=1 priority=1 | wait b/w gpu=1`,
			"z:by-quota y:none x:by-quota"},
		{"non-preemptible work stands first", `
			nodes 2 | queue a quota=1 | queue b quota=1
			run a/x gpu=1 priority=9 | run a/y gpu=1 fixed | wait b/w gpu=1`, "x:none"},
		{"then priority, minima, admission, submission, ID", `
			nodes 6 | queue a quota=3 | queue b quota=1
			run a/s gpu=1 priority=2 | run a/s+1 gpu=1 priority=2 | run a/t gpu=1 admitted=5 submitted=1
			run a/u gpu=1 admitted=4 submitted=2 | run a/v gpu=1 admitted=4 submitted=3 | run a/x gpu=1 admitted=4 submitted=2
			wait b/w gpu=1`,
			"t:none v:none x:none u:by-quota s+1:by-quota s:by-quota"},
		{"in every resource", `
			nodes 3 | cpus 4 | queue c | queue d | queue d/a quota=2,1 lf=2,2 | queue b quota=1
			run c/v gpu=1 | run d/a/x gpu=1 cpu=1 | run d/a/y gpu=1 cpu=1 | wait b/w gpu=1`,
			"v:none y:by-share x:by-quota"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newScene(row.scene)
			_, p, _ := s.find(t, byQuota)
			var text []string
			for _, u := range s.room.Rank(s.preemptor, &p, p.Mode, 9).Units {
				text = append(text, fmt.Sprintf("%s:%v", s.name(u.Unit), u.Protection))
			}
			if got := strings.Join(text, " "); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

// Of candidates far from a victim in the order only the number is told; and the
// queues' rights are told where they come nearest to their line.
func TestRankTellsWhatIsNear(t *testing.T) {
	s := newScene(`
		nodes 6 | cpus 9 | queue a share=2 | queue d quota=3,2 share=4,4 | queue d/q quota=2,2
		run a/u gpu=1 | run a/v gpu=1 | run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1
		run d/q/r gpu=1 cpu=1 | wait d/q/w gpu=1 cpu=1`)
	_, p, _ := s.find(t, byQuota)
	if got, want := rankText(s, &p, p.Mode, 2), "z:taken y:not-needed x:not-needed 2×not-needed 1×same-queue"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	ranking := s.room.Rank(s.preemptor, &p, p.Mode, 0)
	want := []preempt.Right{
		{Queue: 2, Resource: 0, Use: 1000, Asks: 1000, Entitlement: 2000},
		{Queue: 1, Resource: 1, Use: 1000, Asks: 1000, Entitlement: 2000},
	}
	if diff := cmp.Diff(want, ranking.Right); diff != "" {
		t.Error(diff)
	}
	one := ranking.Units[0]
	if one.Class != preempt.OverShare || len(one.Queues) != 1 || one.Saturations[0].Num != 5000 || one.Saturations[0].Den != 2000 {
		t.Errorf("%+v", one)
	}
	if n := p.Nodes(); len(n) != 1 || n[0] != 0 {
		t.Errorf("the place is %v", n)
	}
}

// Why there is no room: what was looked at, and what kept it.
func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		why, scene string
		mode       preempt.Mode
		want       preempt.Refusal
	}{
		{"R1: it is not entitled, nobody is looked at", `
			nodes 1 | queue a | queue b | run a/x gpu=1 | wait b/w gpu=1`, byQuota, preempt.Refusal{}},
		{"M1: runtimes, and when the first is over", `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 reclaim-from=3000 | run a/y gpu=1 reclaim-from=2000 | wait b/w gpu=1`, byQuota,
			preempt.Refusal{Units: 2, Protected: 2, Until: 2000}},
		{"M7: a budget that is spent", `
			nodes 2 | pool budgets=-2 | queue a | queue b quota=2
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 | wait b/w gpu=1`, byQuota,
			preempt.Refusal{Units: 2, Budgeted: 2}},
		{"M7: a budget that keeps some from going together", `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=2
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 | wait b/w gpu=2`, byQuota,
			preempt.Refusal{Units: 2, Takeable: 2, Budgeted: 1, Steps: 1}},
		{"M7: the cap, and how many it would have taken", `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2 cap=1`, byQuota,
			preempt.Refusal{Units: 2, Takeable: 2, Capped: 2, Steps: 3}},
		{"R5: whose turn it is not", `
			nodes 2 | pool margin=9 | queue a share=1 | queue b share=2
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, byShare,
			preempt.Refusal{Units: 2, Turning: 2}},
		{"M8: all that may be taken is not enough, so nothing is tried", `
			nodes 4 | queue a | queue b quota=4
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=2 fixed | wait b/w gpu=4`, byQuota,
			preempt.Refusal{Units: 3, Takeable: 2}},
		{"E7: with all gone its leaf would be beyond its line", `
			nodes 4 | queue a quota=2 share=3
			run a/x gpu=2 | run a/y gpu=1 priority=9 | wait a/w gpu=3 priority=5`, lower,
			preempt.Refusal{Units: 2, Takeable: 1, Steps: 1, Beyond: &preempt.Right{Use: 1000, Asks: 3000, Entitlement: 3000}}},
		{"M8: moves free nothing", `
			nodes 2 | queue a quota=4
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=1`, move, preempt.Refusal{}},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := newScene(row.scene)
			victims, _, got := s.find(t, row.mode)
			if got.Steps > 0 && row.want.Steps > 0 {
				got.Steps = row.want.Steps // how many is the search's own affair
			}
			got.Short = nil // it is what was asked with
			if diff := cmp.Diff(row.want, got); diff != "" || len(victims) > 0 {
				t.Error(victims, diff)
			}
		})
	}
}

// M3: the search is bounded by steps, which are counted, and says when it was cut.
func TestStepsAreBounded(t *testing.T) {
	for _, mode := range []preempt.Mode{byQuota, move} {
		text := `queue a | queue b quota=9
			run a/t gpu=1 on=0 | run a/u gpu=1 on=1 | run a/v gpu=1 on=2 | wait b/w gpu=2`
		for _, steps := range []int{1, 1000} {
			s := newScene(fmt.Sprintf("nodes 2 2 2 | pool steps=%d\n%s", steps, text))
			_, _, refusal := s.find(t, mode)
			if cut := steps == 1; refusal.Cut != cut || refusal.Steps > steps+1 || refusal.Steps == 0 {
				t.Errorf("mode %v, at most %d: %d steps, cut %t", mode, steps, refusal.Steps, refusal.Cut)
			}
		}
	}
}
