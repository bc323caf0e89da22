package preempt_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/allotsched/allot/preempt"
)

// A ruling is one question and its answer by one rule of making room: who goes, in
// their order; nobody where the answer is empty.
type ruling struct {
	rule, why string
	mode      preempt.Mode
	scene     string
	want      string
}

const (
	byQuota = preempt.ReclaimByQuota
	byShare = preempt.ReclaimByShare
	lower   = preempt.Preempt
	move    = preempt.Consolidate
	both    = preempt.ReclaimAndPreempt
)

// judge asks what every row asks. A second question about the same, and one of a
// preemptor whose answers are kept for others like it, have the same answer.
func judge(t *testing.T, rows []ruling) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.rule+" "+row.why, func(t *testing.T) {
			s := newScene(row.scene)
			for _, like := range []int32{-1, 3, 3, -1} {
				s.preemptor.Equivalence = like
				got, _, _ := s.find(t, row.mode)
				if strings.Join(got, " ") != row.want {
					t.Fatalf("takes %q, want %q", got, row.want)
				}
			}
		})
	}
}

// R1: who may reclaim.
func TestR1WhoMayReclaim(t *testing.T) {
	judge(t, []ruling{
		{"R1", "within the leaf's quota", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R1", "not beyond it", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2`, ""},
		{"R1", "what its leaf uses counts", byQuota, `
			nodes 3 | queue a | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 | run b/v gpu=1 | wait b/w gpu=2`, ""},
		{"R1", "the leaf's line may be cut below its quota", byQuota, `
			nodes 2 | queue a | queue b quota=2 lq=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2`, ""},
		{"R1", "each queue below the one where the paths part", byQuota, `
			nodes 2 | queue a | queue d quota=1 | queue d/q quota=2
			run a/x gpu=1 | run a/y gpu=1 | wait d/q/w gpu=2`, ""},
		{"R1", "and none above it", byQuota, `
			nodes 2 | queue d quota=1 | queue d/q quota=2 | queue d/r
			run d/r/x gpu=1 | run d/r/y gpu=1 | wait d/q/w gpu=2`, "y x"},
		{"R1", "judged with the victims gone", byQuota, `
			nodes 2 | queue a | queue d quota=2 | queue d/q quota=2 | queue d/r
			run d/r/x gpu=1 | run a/y gpu=1 | wait d/q/w gpu=2`, "x y"},
		{"R1", "by share within fair share", byShare, `
			nodes 2 | queue a | queue b share=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R1", "and not beyond it", byShare, `
			nodes 2 | queue a | queue b share=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2`, ""},
		{"R1", "fair share gives no right by quota", byQuota, `
			nodes 2 | queue a | queue b share=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, ""},
		{"R1", "in every resource that it requests", byQuota, `
			nodes 2 | cpus 4 | queue a | queue b quota=1
			run a/x gpu=1 cpu=1 | run a/y gpu=1 cpu=1 | wait b/w gpu=1 cpu=1`, ""},
		{"R1", "and in no other", byQuota, `
			nodes 2 | cpus 4 | queue a quota=0,4 | queue b quota=1
			run a/x gpu=1 cpu=1 | run a/y gpu=1 cpu=1 | wait b/w gpu=1`, "y"},
		{"R1", "the queues above by share at their fair share", byShare, `
			nodes 2 | queue a | queue d share=1 | queue d/q share=2
			run a/x gpu=1 | run a/y gpu=1 | wait d/q/w gpu=2`, ""},
		{"Q2", "a non-preemptible one is bound by quota up to the root", byQuota, `
			nodes 2 | queue d quota=1 | queue d/q quota=2 | queue d/r
			run d/r/x gpu=1 | run d/r/y gpu=1 | wait d/q/w gpu=2 fixed`, ""},
		{"Q3", "a limit binds with the victims gone", byQuota, `
			nodes 2 | queue d quota=2 limit=2 | queue d/q quota=1 | queue d/r
			run d/r/x gpu=1 | run d/r/y gpu=1 | wait d/q/w gpu=1`, "y"},
		{"Q3", "and holds the preemptor whoever goes", byQuota, `
			nodes 2 | queue a | queue b quota=2 limit=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2`, ""},
	})
}

// R2: from whom.
func TestR2FromWhom(t *testing.T) {
	judge(t, []ruling{
		{"R2", "a side over its quota", byQuota, `
			nodes 2 | queue a quota=1 | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R2", "a side at its quota loses nothing", byQuota, `
			nodes 2 | queue a quota=2 lq=0 | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, ""},
		{"R2", "read again before each goes", byQuota, `
			nodes 3 | queue a quota=2 lq=0 | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=2`, ""},
		{"R2", "the side decides, not the leaf", byQuota, `
			nodes 2 | queue d quota=2 | queue d/q | queue b quota=1
			run d/q/x gpu=1 | run d/q/y gpu=1 | wait b/w gpu=1`, ""},
		{"R2", "by share: over quota alone is not enough", byShare, `
			nodes 2 | queue a share=2 lf=0 | queue b share=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, ""},
		{"R2", "by share: over quota alone, though more saturated than who asks", byShare, `
			nodes 3 | queue a share=4 lf=1 | queue b share=2
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, ""},
		{"R2", "by share: over fair share, within quota", byShare, `
			nodes 2 | queue a quota=2 share=1 lq=0 lf=0 | queue b share=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, ""},
		{"R2", "over in what the preemptor is not short of", byQuota, `
			nodes 2 | cpus 8 | queue a quota=2,0 | queue b quota=1,1
			run a/x gpu=1 cpu=1 | run a/y gpu=1 cpu=1 | wait b/w gpu=1 cpu=1`, ""},
		{"R2", "the victim holds what is short", byQuota, `
			nodes 2 | cpus 8 | queue a | queue b quota=1
			run a/x gpu=2 | run a/y cpu=1 | wait b/w gpu=1`, "x"},
		{"R2", "a reclaim takes from other queues", byQuota, `
			nodes 2 | queue a quota=2 | queue b
			run b/x gpu=1 | run b/y gpu=1 | wait b/w gpu=1 priority=9`, ""},
		{"M1", "never what is not preemptible", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 fixed | wait b/w gpu=1`, "x"},
		{"M2", "what would not be enough touches nobody", byQuota, `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 fixed | wait b/w gpu=2`, ""},
	})
}

// R3 and R6: the order between sides, and inside a leaf.
func TestR3TheOrderOfVictims(t *testing.T) {
	judge(t, []ruling{
		{"R3", "over fair share goes before over quota", byQuota, `
			nodes 3 | queue a share=2 | queue c | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | run c/z gpu=1 priority=9 | wait b/w gpu=1`, "z"},
		{"R3", "then the more saturated side", byQuota, `
			nodes 5 | queue a share=2 | queue c share=1 | queue b quota=1
			run a/x gpu=3 priority=1 | run c/y gpu=1 priority=9 | run c/z gpu=1 priority=9 | wait b/w gpu=1`, "z"},
		{"R3", "saturation is read again after each", byQuota, `
			nodes 6 | queue a share=1 | queue c share=1 | queue b quota=3
			run a/u gpu=1 priority=9 | run a/v gpu=1 priority=9 | run a/x gpu=2 priority=1
			run c/y gpu=1 priority=5 | run c/z gpu=1 priority=5 | wait b/w gpu=3`, "x z"},
		{"R3", "of the last unit's side", byQuota, `
			nodes 5 | queue a share=1 | queue c share=1 | queue b quota=2
			run a/u gpu=1 priority=9 | run a/v gpu=1 priority=9 | run a/x gpu=1 priority=8
			run c/y gpu=1 priority=5 | run c/z gpu=1 priority=5 | wait b/w gpu=2`, "x z"},
		{"R3", "below its side a queue within quota gives last", byQuota, `
			nodes 3 | queue d quota=1 | queue d/q quota=2 | queue d/r | queue b quota=1
			run d/q/x gpu=1 | run d/q/y gpu=1 | run d/r/z gpu=1 priority=9 | wait b/w gpu=1`, "z"},
		{"R3", "saturation below the side, level by level", byQuota, `
			nodes 4 | queue d share=1 | queue d/q share=1 | queue d/r share=1 | queue b quota=1
			run d/q/x gpu=1 | run d/r/u gpu=1 priority=9 | run d/r/v gpu=1 priority=9 | run d/r/y gpu=1 priority=9
			wait b/w gpu=1`, "y"},
		{"R6", "inside a leaf the lowest priority goes first", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 priority=1 | run a/y gpu=1 priority=2 | wait b/w gpu=1`, "x"},
		{"R6", "whatever the preemptor's own priority", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 priority=8 | run a/y gpu=1 priority=9 | wait b/w gpu=1 priority=1`, "x"},
		{"R8", "of one priority what is above a minimum", byQuota, `
			nodes 3 | queue a | queue b quota=1
			run a/x gpu=1 admitted=1 | run a/x+1 gpu=1 admitted=1 | run a/y gpu=1 admitted=9 | wait b/w gpu=1`, "x+1"},
		{"R8", "then the latest admission", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 admitted=5 | run a/y gpu=1 admitted=4 submitted=9 | wait b/w gpu=1`, "x"},
		{"R8", "then the latest submission", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 submitted=5 | run a/y gpu=1 submitted=4 | wait b/w gpu=1`, "x"},
		{"R8", "then the ID", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/y gpu=1 | run a/x gpu=1 | wait b/w gpu=1`, "y"},
	})
}

// R3: the order among many sides, each read again after each unit: three over fair
// share lose one each, and then all are alike.
func TestR3ManySides(t *testing.T) {
	text := "nodes 11 | queue b quota=5\n"
	for i := range 8 {
		text += fmt.Sprintf("queue q%d share=1\nrun q%d/x%d gpu=1\n", i, i, i)
		if i < 3 {
			text += fmt.Sprintf("run q%d/y%d gpu=1\n", i, i)
		}
	}
	judge(t, []ruling{
		{"R3", "many sides", byQuota, text + "wait b/w gpu=5", "y2 y1 y0 x7 x6"},
		{"R3", "of which some have nobody left", byQuota, strings.Replace(text, "y1 gpu=1", "y1 gpu=1 fixed", 1) + "wait b/w gpu=5", "y2 y0 x1 x7 x6"},
		{"R2", "and no more than is over the line", byShare, strings.Replace(text, "quota=5", "share=5", 1) + "wait b/w gpu=4", ""},
	})
}

// R4 and R5: what straddles a line, and the margin of a reclaim by share.
func TestR4R5StraddleAndMargin(t *testing.T) {
	judge(t, []ruling{
		{"R4", "take: the side was over its line before", byQuota, `
			nodes 2 | queue a quota=1 | queue b quota=1
			run a/g gpu=1 tasks=2 | wait b/w gpu=1`, "g"},
		{"R4", "spare: the side stays at its line", byQuota, `
			nodes 2 | pool spare | queue a quota=1 | queue b quota=1
			run a/g gpu=1 tasks=2 | wait b/w gpu=1`, ""},
		{"R4", "spare: what leaves it there goes", byQuota, `
			nodes 2 | pool spare | queue a quota=1 | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R4", "spare by share: the larger of quota and fair share", byShare, `
			nodes 3 | pool spare no-preemption | queue a quota=1 share=2 | queue b share=2
			run a/g gpu=1 tasks=2 | run a/x gpu=1 priority=9 | wait b/w gpu=1`, "x"},
		{"R6", "who would take from what is spared what it loses does not go", byShare, `
			nodes 3 | pool spare | queue a quota=1 share=2 | queue b share=2
			run a/g gpu=1 tasks=2 | run a/x gpu=1 priority=9 | wait b/w gpu=1`, ""},
		{"R6", "nor from what a minimum runtime protects", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 reclaim-from=1001 | run a/y gpu=1 priority=9 | wait b/w gpu=1`, ""},
		{"R6", "but where that is of no lower priority", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 reclaim-from=1001 | run a/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R6", "or is protected from preemption too", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 reclaim-from=1001 preempt-from=1001 | run a/y gpu=1 priority=9 | wait b/w gpu=1`, "y"},
		{"R5", "the side's ratio before is above the other's after", byShare, `
			nodes 3 | queue a share=1 | queue b share=2
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, "z"},
		{"R5", "by the margin", byShare, `
			nodes 3 | pool margin=5 | queue a share=1 | queue b share=2
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, "z"},
		{"R5", "and not equal to it", byShare, `
			nodes 3 | pool margin=6 | queue a share=1 | queue b share=2
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, ""},
		{"R5", "a margin says nothing of a reclaim by quota", byQuota, `
			nodes 3 | pool margin=6 | queue a share=1 | queue b quota=1
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait b/w gpu=1`, "z"},
		{"R5", "it would invert: another resource saturates the preemptor's side", byShare, `
			nodes 3 | cpus 4 | queue a share=2,9 | queue b share=1,1
			run a/x gpu=2 | run a/y gpu=1 | run b/v cpu=2 | wait b/w gpu=1`, ""},
		{"R5", "it would not: the victim's side is the more saturated by that", byShare, `
			nodes 3 | cpus 4 | queue a share=1,9 | queue b share=1,1
			run a/x gpu=2 | run a/y gpu=1 | run b/v cpu=2 | wait b/w gpu=1`, "y"},
	})
}

// R8 and R9: what a leaf's lines protect. The side d is over its lines whatever
// its leaf has.
func TestR9EitherOr(t *testing.T) {
	judge(t, []ruling{
		{"R9", "what the line covers does not go", byQuota, `
			nodes 2 | queue d | queue d/q quota=2 | queue b quota=1
			run d/q/x gpu=1 | run d/q/y gpu=1 | wait b/w gpu=1`, ""},
		{"R9", "excess may be protected work", byQuota, `
			nodes 4 | queue d | queue d/q quota=2 | queue b quota=2
			run d/q/x gpu=1 priority=3 | run d/q/y gpu=2 priority=2 | run d/q/z gpu=1 priority=1
			wait b/w gpu=2`, "z x"},
		{"R9", "either protected work or below the line", byQuota, `
			nodes 4 | queue d | queue d/q quota=2 | queue b quota=3
			run d/q/x gpu=1 priority=3 | run d/q/y gpu=2 priority=2 | run d/q/z gpu=1 priority=1
			wait b/w gpu=3`, ""},
		{"R9", "else once more with unprotected work only", byQuota, `
			nodes 4 | queue d | queue d/q quota=2 | queue b quota=3
			run d/q/x gpu=3 priority=2 | run d/q/y gpu=1 priority=1 | wait b/w gpu=3`, "x"},
		{"R9", "leaves are judged each by itself", byQuota, `
			nodes 4 | queue d | queue d/q quota=1 | queue d/r | queue b quota=3
			run d/q/x gpu=1 priority=1 | run d/q/y gpu=1 priority=2 | run d/r/z gpu=2 priority=9
			wait b/w gpu=3`, "z x"},
		{"R8", "by share too what is excess goes", byShare, `
			nodes 3 | queue d | queue d/q quota=1 share=1 | queue b share=1
			run d/q/x gpu=1 admitted=1 | run d/q/y gpu=1 admitted=2 | run d/q/z gpu=1 admitted=3
			wait b/w gpu=1`, "z"},
		{"R8", "share protects from a reclaim by share", byShare, `
			nodes 2 | queue d | queue d/q share=2 | queue b share=1
			run d/q/x gpu=1 | run d/q/y gpu=1 | wait b/w gpu=1`, ""},
		{"R8", "and not from one by quota", byQuota, `
			nodes 2 | queue d | queue d/q share=2 | queue b quota=1
			run d/q/x gpu=1 | run d/q/y gpu=1 | wait b/w gpu=1`, "y"},
		{"R9", "excess goes before what straddles the line, though older", byQuota, `
			nodes 4 | queue a quota=3 | queue b quota=1
			run a/x gpu=1 admitted=1 | run a/y gpu=3 admitted=2 | wait b/w gpu=1`, "x"},
		{"R9", "but after what is of lower priority", byQuota, `
			nodes 4 | queue a quota=3 | queue b quota=1
			run a/x gpu=1 priority=2 | run a/y gpu=3 priority=1 | wait b/w gpu=1`, "y"},
		{"R9", "read again after each", byQuota, `
			nodes 6 | queue a quota=3 | queue b quota=3
			run a/u gpu=1 admitted=1 | run a/v gpu=1 admitted=2 | run a/x gpu=2 admitted=3 | run a/y gpu=2 admitted=4
			wait b/w gpu=3`, "y v"},
		{"R9", "what straddles goes when no excess of its priority is left", byQuota, `
			nodes 4 | queue a quota=1 | queue b quota=4 | queue c
			run a/x gpu=1 priority=2 | run a/y gpu=2 | run c/z gpu=1 priority=3 | wait b/w gpu=3`, "z y"},
		{"R9", "else each alone", byQuota, `
			nodes 3 1 | queue a quota=2 | queue b quota=2
			run a/x gpu=2 on=0 admitted=1 | run a/y gpu=1 tasks=2 on=0,1 admitted=2 | wait b/w gpu=2`, "x"},
		{"R9", "several resources: excess in one that is short", byQuota, `
			nodes 2 | cpus 2 | queue d | queue d/q quota=1,2 | queue b quota=1,1
			run d/q/x gpu=1 cpu=1 | run d/q/y gpu=1 cpu=1 | wait b/w gpu=1 cpu=1`, "y"},
	})
}

// R11: reclaim and preemption at once.
func TestR11ReclaimAndPreempt(t *testing.T) {
	judge(t, []ruling{
		{"R11", "lower priority of its own leaf, and what others have beyond their lines", both, `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2`, "x y"},
		{"R11", "by share too", both, `
			nodes 4 | queue a share=2 | queue b share=2
			run a/x gpu=1 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2`, "x y"},
		{"R11", "but not where quota alone reclaims", both, `
			nodes 4 | pool quota | queue a share=2 | queue b share=2
			run a/x gpu=1 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2`, ""},
		{"R11", "no straddling", both, `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 | run b/u gpu=3 | wait a/w gpu=2 priority=2`, ""},
		{"R11", "never of equal priority", both, `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 priority=2 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2`, ""},
		{"R11", "R1 binds each queue above", both, `
			nodes 4 | queue d quota=1 | queue d/a quota=2 | queue b quota=2
			run d/a/x gpu=1 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait d/a/w gpu=2 priority=2`, ""},
		{"R11", "the lowest priority first, then the newest", both, `
			nodes 6 | queue a quota=3 | queue b quota=3
			run a/p gpu=1 priority=1 admitted=1 | run a/q gpu=1 priority=1 admitted=2
			run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | run b/z gpu=1 | wait a/w gpu=2 priority=2`, "q z"},
		{"R11", "own work is spared without which the rest serves", both, `
			nodes 2 2 | queue a quota=3 | queue b quota=1
			run a/p gpu=1 on=1 admitted=1 lost=0 | run a/q gpu=1 on=0 admitted=2 | run b/u gpu=1 on=0 fixed | run b/v gpu=1 on=1
			wait a/w gpu=2 priority=2`, "p v"},
		{"R11", "the leaf must gain", both, `
			nodes 2 1 | queue a quota=2 | queue b quota=0
			run a/p gpu=1 tasks=2 on=0,1 | run b/v gpu=1 on=0 | wait a/w gpu=2 priority=2`, ""},
		{"M1", "what ran too short a time stays", both, `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 preempt-from=2000 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2`, ""},
		{"M7", "the cap counts all who go", both, `
			nodes 4 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 | run b/u gpu=1 | run b/v gpu=1 | run b/y gpu=1 | wait a/w gpu=2 priority=2 cap=1`, ""},
	})
}

// E1 to E8: preemption.
func TestE1ToE8Preemption(t *testing.T) {
	judge(t, []ruling{
		{"E1", "strictly lower priority of the same queue", lower, `
			nodes 2 | queue a quota=2
			run a/x gpu=1 priority=1 | run a/y gpu=1 priority=2 | wait a/w gpu=1 priority=2`, "x"},
		{"E1", "never of an equal one", lower, `
			nodes 1 | queue a quota=1
			run a/x gpu=1 priority=2 | wait a/w gpu=1 priority=2`, ""},
		{"E1", "nor of another queue", lower, `
			nodes 1 | queue a | queue b quota=1
			run a/x gpu=1 priority=1 | wait b/w gpu=1 priority=2`, ""},
		{"E1", "but where the knob says so", lower, `
			nodes 1 | pool priority | queue a | queue b quota=1
			run a/x gpu=1 priority=1 | wait b/w gpu=1 priority=2`, "x"},
		{"E1", "never what is not preemptible", lower, `
			nodes 1 | queue a quota=1
			run a/x gpu=1 priority=1 fixed | wait a/w gpu=1 priority=2`, ""},
		{"E2", "the lowest priority first", lower, `
			nodes 3 | queue a quota=3
			run a/x gpu=1 priority=2 admitted=9 | run a/y gpu=1 priority=1 admitted=1 | run a/z gpu=1 priority=3
			wait a/w gpu=1 priority=9`, "y"},
		{"E2", "then the newest", lower, `
			nodes 3 | queue a quota=3
			run a/x gpu=1 admitted=9 | run a/y gpu=1 admitted=1 | run a/z gpu=1 admitted=3
			wait a/w gpu=1 priority=9`, "x"},
		{"E3", "quota holds a non-preemptible one with the victims gone", lower, `
			nodes 2 | queue a quota=1
			run a/x gpu=1 | run a/y gpu=1 fixed priority=9 | wait a/w gpu=1 priority=9 fixed`, ""},
		{"E3", "what frees a limit may stand anywhere", lower, `
			nodes 1 1 | queue a quota=1 limit=1
			run a/x gpu=1 on=0 | wait a/w gpu=1 priority=9`, "x"},
		{"E4", "nobody where it is not sufficient", lower, `
			nodes 2 | queue a quota=2
			run a/x gpu=1 | run a/y gpu=1 priority=9 | wait a/w gpu=2 priority=9`, ""},
		{"E4", "nobody who is not needed", lower, `
			nodes 3 | queue a quota=3
			run a/x gpu=1 admitted=9 | run a/y gpu=2 admitted=1 | wait a/w gpu=2 priority=9`, "y"},
		{"E7", "quota-protected work goes for who becomes so", lower, `
			nodes 2 | queue a quota=2
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=1 priority=9`, "y"},
		{"E7", "and, where that does not serve, for who is within the lines", lower, `
			nodes 3 | queue a quota=2 share=3
			run a/y gpu=1 fixed | run a/x gpu=1 | wait a/w gpu=2 priority=5`, "x"},
		{"E7", "in every queue above", lower, `
			nodes 3 | queue d quota=2 | queue d/a quota=2 share=3
			run d/a/y gpu=1 fixed | run d/a/x gpu=1 | wait d/a/w gpu=2 priority=5`, ""},
		{"E7", "then the lowest priority first, then the newest, protected or not", lower, `
			nodes 5 | queue a quota=3 share=5
			run a/z gpu=2 priority=1 admitted=1 | run a/x gpu=2 priority=2 admitted=3 | run a/y gpu=1 priority=2 admitted=2
			wait a/w gpu=4 priority=5`, "z x"},
		{"E7", "share-protected work goes for who becomes share-protected", lower, `
			nodes 3 | queue a quota=1 share=3
			run a/y gpu=1 fixed | run a/x gpu=1 | wait a/w gpu=2 priority=5`, "x"},
		{"E7", "share-protected work goes for who becomes so", lower, `
			nodes 2 | queue a share=2
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=1 priority=9`, "y"},
		{"E7", "protected work stays for who would be beyond the lines", lower, `
			nodes 4 | queue a quota=2
			run a/v gpu=1 priority=7 | run a/u gpu=2 priority=3 | run a/x gpu=1 priority=1
			wait a/w gpu=3 priority=5`, ""},
		{"E7", "unprotected work goes for anybody above it", lower, `
			nodes 2 | queue a
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=1 priority=9`, "y"},
		{"E8", "as much is released as is started", lower, `
			nodes 4 | queue a
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait a/w gpu=3 priority=9`, "z y x"},
		{"E8", "also where less would make the room", lower, `
			nodes 5 | queue a
			run a/x gpu=1 | run a/y gpu=1 | run a/z gpu=1 | wait a/w gpu=3 priority=9`, "z y x"},
		{"E8", "not more is started than is released", lower, `
			nodes 4 | queue a
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=3 priority=9`, ""},
		{"E8", "within its lines it need not release as much", lower, `
			nodes 4 | queue a quota=4
			run a/x gpu=1 | run a/y gpu=1 | wait a/w gpu=3 priority=9`, "y"},
		{"E8", "at every level", lower, `
			nodes 4 | queue d quota=1 | queue d/a quota=4
			run d/a/x gpu=1 | run d/a/y gpu=1 | wait d/a/w gpu=3 priority=9`, ""},
		{"M1", "its minimum runtime is not over", lower, `
			nodes 2 | queue a quota=2
			run a/x gpu=1 | run a/y gpu=1 preempt-from=1001 | wait a/w gpu=1 priority=9`, "x"},
		{"M1", "that of reclaim says nothing here", lower, `
			nodes 2 | queue a quota=2
			run a/x gpu=1 | run a/y gpu=1 reclaim-from=1001 | wait a/w gpu=1 priority=9`, "y"},
		{"M1", "and that of preemption nothing there", byQuota, `
			nodes 2 | queue a | queue b quota=1
			run a/x gpu=1 reclaim-from=1001 | run a/y gpu=1 preempt-from=1001 | wait b/w gpu=1`, "y"},
		{"M1", "it is over at its end", byQuota, `
			nodes 1 | queue a | queue b quota=1
			run a/x gpu=1 reclaim-from=1000 | wait b/w gpu=1`, "x"},
		{"M1", "a move obeys that of preemption", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 preempt-from=1001 | run a/y gpu=1 on=1 | wait a/w gpu=2`, "y"},
	})
}

// M3: among places the least harm wins.
func TestM3TheLeastHarm(t *testing.T) {
	judge(t, []ruling{
		{"M3", "no victim is superfluous", byQuota, `
			nodes 3 | queue a | queue b quota=2
			run a/x gpu=1 admitted=9 | run a/y gpu=2 admitted=1 | wait b/w gpu=2`, "y"},
		{"M3", "the best protected victim decides: its class", byQuota, `
			nodes 1 1 | queue a share=1 | queue c | queue b quota=1
			run a/x gpu=1 on=0 | run c/y gpu=1 on=1 priority=9 | wait b/w gpu=1`, "y"},
		{"M3", "then its priority", byQuota, `
			nodes 2 2 | queue a | queue b quota=2
			run a/u gpu=1 on=0 priority=1 | run a/v gpu=1 on=0 priority=3
			run a/x gpu=1 on=1 priority=2 | run a/y gpu=1 on=1 priority=2 | wait b/w gpu=2`, "y x"},
		{"M3", "then the next best", byQuota, `
			nodes 2 2 | queue a | queue b quota=2
			run a/u gpu=1 on=0 priority=2 | run a/v gpu=1 on=0 priority=3
			run a/x gpu=1 on=1 priority=1 | run a/y gpu=1 on=1 priority=3 | wait b/w gpu=2`, "x y"},
		{"M3", "fewer of the same are less", byQuota, `
			nodes 2 2 | queue a | queue b quota=2
			run a/u gpu=1 on=0 admitted=9 | run a/v gpu=1 on=0 admitted=9
			run a/x gpu=2 on=1 lost=99 | wait b/w gpu=2`, "x"},
		{"M3", "then the less lost work", byQuota, `
			nodes 2 2 | queue a | queue b quota=2
			run a/u gpu=1 on=0 lost=5 | run a/v gpu=1 on=0 lost=5 | run a/x gpu=1 on=1 lost=9 | run a/y gpu=1 on=1
			wait b/w gpu=2`, "y x"},
		{"M3", "then fewer workloads", byQuota, `
			nodes 2 2 2 | queue a | queue b quota=2
			run a/u gpu=1 on=2 priority=9 | run a/v gpu=1 on=2 priority=9 | run a/u+1 gpu=1 on=1 | run a/v+1 gpu=1 on=1
			run a/x gpu=1 on=0 | run a/x+1 gpu=1 on=0 | wait b/w gpu=2`, "x+1 x"},
		{"M3", "then the order", byQuota, `
			nodes 1 1 | queue a | queue b quota=1
			run a/x gpu=1 on=0 admitted=1 | run a/y gpu=1 on=1 admitted=2 | wait b/w gpu=1`, "y"},
		{"M3", "a gang may be cleared on any set of nodes", byQuota, `
			nodes 1 1 1 | queue a | queue b quota=2
			run a/x gpu=1 on=0 priority=1 | run a/y gpu=1 on=1 priority=9 | run a/z gpu=1 on=2 priority=2
			wait b/w gpu=1 tasks=2`, "x z"},
		{"M3", "also where room cannot be counted", byQuota, `
			nodes 1 1 1 | queue a | queue b quota=2
			run a/x gpu=1 on=0 priority=1 | run a/y gpu=1 on=1 priority=9 | run a/z gpu=1 on=2 priority=2
			wait b/w gpu=1 tasks=2 searched`, "x z"},
		{"M3", "preemption compares in the same way", lower, `
			nodes 2 2 | queue a quota=4
			run a/u gpu=1 on=0 priority=1 | run a/v gpu=1 on=0 priority=3
			run a/x gpu=1 on=1 priority=2 | run a/y gpu=1 on=1 priority=2 | wait a/w gpu=2 priority=9`, "y x"},
		{"M3", "of nodes that are many the cheapest to clear", byQuota, manyNodes(""), "n l m"},
		{"T7", "one of the domains has to hold all", byQuota, `
			nodes 1 1 1 1 | queue a | queue b quota=2
			run a/u gpu=1 on=0 priority=1 | run a/v gpu=1 on=1 priority=9
			run a/x gpu=1 on=2 priority=2 | run a/y gpu=1 on=3 priority=2
			wait b/w gpu=1 tasks=2 domains=0,1;2,3`, "y x"},
		{"T7", "also where room cannot be counted", byQuota, `
			nodes 1 1 1 1 | queue a | queue b quota=2
			run a/u gpu=1 on=0 priority=1 | run a/v gpu=1 on=1 priority=9
			run a/x gpu=1 on=2 priority=2 | run a/y gpu=1 on=3 priority=2
			wait b/w gpu=1 tasks=2 domains=0,1;2,3 searched`, "y x"},
		{"T7", "no domain is large enough", byQuota, `
			nodes 1 1 1 | queue a | queue b quota=2
			run a/u gpu=1 on=0 | run a/x gpu=1 on=1 | run a/y gpu=1 on=2
			wait b/w gpu=1 tasks=2 domains=0;1;2`, ""},
		{"T7", "large domains are cleared node by node", byQuota, manyNodes(" domains=0,1,2,3,4,5,6,7;8,9,10,11,12,13,14,15"), "n l m"},
	})
}

// manyNodes are sixteen nodes with 2 GPUs, each full of two jobs, of which one
// alone is of high priority but on three nodes: a gang of three finds these.
func manyNodes(more string) string {
	var text strings.Builder
	text.WriteString("nodes" + strings.Repeat(" 2", 16) + " | queue a | queue b quota=3\n")
	for n := range 16 {
		name, priority := string(rune('a'+n)), "5"
		if name == "l" || name == "m" || name == "n" {
			priority = "1"
		}
		if name == "m" {
			priority = "2"
		}
		text.WriteString("run a/" + name + " gpu=1 on=" + strconv.Itoa(n) + " priority=" + priority + "\n")
		text.WriteString("run a/z" + name + " gpu=1 on=" + strconv.Itoa(n) + " priority=9\n")
	}
	text.WriteString("wait b/w gpu=1 tasks=3" + more)
	return text.String()
}

// M6 and M7: steps, budgets and caps.
func TestM6M7StepsBudgetsAndCaps(t *testing.T) {
	judge(t, []ruling{
		{"M6", "the last step goes first", byQuota, `
			nodes 3 | queue a | queue b quota=1
			run a/x gpu=1 | run a/x+1 gpu=1 | run a/x+2 gpu=1 | wait b/w gpu=1`, "x+2"},
		{"M6", "a lower one takes those above it along", byQuota, `
			nodes 3 | queue a | queue b quota=3
			run a/x gpu=1 | run a/x+1 gpu=1 | run a/x+2 gpu=1 | wait b/w gpu=3`, "x+2 x+1 x"},
		{"M6", "also where its place alone is cleared", byQuota, `
			nodes 2 1 | queue a | queue b quota=2
			run a/x gpu=2 on=0 | run a/x+1 gpu=1 on=1 | wait b/w gpu=2`, "x+1 x"},
		{"M6", "each of them is judged by itself", byQuota, `
			nodes 2 1 | queue a | queue b quota=2
			run a/x gpu=2 on=0 | run a/x+1 gpu=1 on=1 reclaim-from=1001 | wait b/w gpu=2`, ""},
		{"M6", "a gang at its minimum is one unit", byQuota, `
			nodes 1 1 1 | queue a | queue b quota=1
			run a/g gpu=1 tasks=3 on=0,1,2 | wait b/w gpu=1`, "g"},
		{"M7", "a budget lets so many of an owner's tasks go", byQuota, `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=1
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 | wait b/w gpu=1`, "y"},
		{"M7", "and no more", byQuota, `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=2
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 | wait b/w gpu=2`, ""},
		{"M7", "it counts tasks that run, and not claims", byQuota, `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=1
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 claimed | wait b/w gpu=1`, "y"},
		{"M7", "what starts lets what runs go", byQuota, `
			nodes 1 1 | pool budgets=-1 | queue a | queue b quota=1 | queue c quota=1
			run a/x gpu=1 owner=0 on=0 | run c/y gpu=1 owner=0 on=1 starts | wait b/w gpu=1`, "x"},
		{"M7", "and may go itself as long as nothing that ran has gone", byQuota, `
			nodes 1 | pool budgets=-3 | queue a | queue b quota=1
			run a/y gpu=1 owner=0 starts | wait b/w gpu=1`, "y"},
		{"M7", "but not both", byQuota, `
			nodes 2 | pool budgets=-1 | queue a | queue b quota=2
			run a/x gpu=1 owner=0 | run a/y gpu=1 owner=0 starts | wait b/w gpu=2`, ""},
		{"M7", "each owner has its own", byQuota, `
			nodes 2 | pool budgets=-1,0 | queue a | queue b quota=1
			run a/x gpu=1 owner=1 | run a/y gpu=1 owner=0 | wait b/w gpu=1`, "x"},
		{"M7", "a budget that the order uses up in vain", lower, `
			nodes 4 | pool budgets=-1 | queue a quota=4
			run a/x gpu=1 owner=0 priority=1 | run a/y gpu=2 owner=0 priority=2 tasks=1
			run a/z gpu=1 priority=9 | wait a/w gpu=2 priority=9`, "y"},
		{"M7", "moves keep budgets too", move, `
			nodes 2 2 | pool budgets=-1 | queue a quota=4
			run a/x gpu=1 on=0 owner=0 | run a/y gpu=1 on=1 | wait a/w gpu=2`, "y"},
		{"M7", "a cap of workloads", byQuota, `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2 cap=1`, ""},
		{"M7", "gives way to as many as it lets go", byQuota, `
			nodes 4 | queue a | queue b quota=2
			run a/x gpu=1 priority=1 | run a/y gpu=1 priority=1 | run a/z gpu=2 priority=2 | wait b/w gpu=2 cap=1`, "z"},
		{"M7", "also where the order of victims is the only one", lower, `
			nodes 4 | queue a quota=4
			run a/x gpu=1 priority=1 | run a/y gpu=1 priority=1 | run a/z gpu=2 priority=2
			wait a/w gpu=2 priority=3 cap=1`, "z"},
		{"M7", "who was disturbed already does not count", byQuota, `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 | run a/y gpu=1 | wait b/w gpu=2 cap=1 disturbed=x`, "y x"},
		{"M7", "the cap counts workloads, not units", byQuota, `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 | run a/x+1 gpu=1 | wait b/w gpu=2 cap=1`, "x+1 x"},
		{"M7", "claims are nobody's disruption", byQuota, `
			nodes 2 | queue a | queue b quota=2
			run a/x gpu=1 claimed | run a/y gpu=1 | wait b/w gpu=2 cap=1`, "y x"},
		{"M7", "moves keep the cap too", move, `
			nodes 2 2 1 | queue a quota=5
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 | run a/z gpu=0.5 on=2 | wait a/w gpu=2 cap=0`, ""},
	})
}

// C1 to C4: victims that only move.
func TestC1ToC4Consolidation(t *testing.T) {
	judge(t, []ruling{
		{"C1", "the newer half moves", move, `
			nodes 1 1 | queue a quota=2
			run a/x gpu=0.5 on=0 | run a/y gpu=0.5 on=1 | wait a/w gpu=1`, "y"},
		{"C1", "who finds no other place stays", move, `
			nodes 1 1 | queue a quota=2
			run a/x gpu=0.6 on=0 | run a/y gpu=0.6 on=1 | wait a/w gpu=1`, ""},
		{"C1", "one that makes way for another", move, `
			nodes 3 2 1 | queue a quota=6
			run a/x gpu=2 on=0 | run a/y gpu=1 on=1 | wait a/w gpu=3`, "y x"},
		{"C1", "a gang moves task by task", move, `
			nodes 2 1 1 | queue a quota=4
			run a/g gpu=1 tasks=2 on=0,1 | wait a/w gpu=2`, "g"},
		{"C2", "nobody moves in vain", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 | wait a/w gpu=3`, ""},
		{"C2", "moving frees nothing in all", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=2 on=0 | run a/y gpu=1 on=1 | wait a/w gpu=2`, ""},
		{"C3", "the fewest GPUs move, whoever it is", move, `
			nodes 4 4 | queue a quota=8
			run a/x gpu=1 on=0 priority=9 | run a/y gpu=2 on=1 | wait a/w gpu=4`, "x"},
		{"C3", "at most the factor", move, `
			nodes 4 4 | pool moved=50 | queue a quota=8
			run a/x gpu=2 on=0 | run a/y gpu=2 on=1 | wait a/w gpu=4`, "y"},
		{"C3", "and no more", move, `
			nodes 4 4 | pool moved=49 | queue a quota=8
			run a/x gpu=2 on=0 | run a/y gpu=2 on=1 | wait a/w gpu=4`, ""},
		{"C3", "of equal cost the order of victims", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 priority=1 | run a/y gpu=1 on=1 priority=2 | wait a/w gpu=2`, "x"},
		{"M1", "never what is not preemptible", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 fixed | wait a/w gpu=2`, "x"},
		{"S4", "nor what does not all run", move, `
			nodes 2 2 | queue a quota=4
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 rooted | wait a/w gpu=2`, "x"},
		{"C2", "quota holds it as things stand", move, `
			nodes 2 2 | queue a quota=4 limit=3
			run a/x gpu=1 on=0 | run a/y gpu=1 on=1 | wait a/w gpu=2`, ""},
		{"C1", "of several queues", move, `
			nodes 2 2 | queue a quota=2 | queue b quota=2
			run a/x gpu=1 on=0 | run b/y gpu=1 on=1 | wait a/w gpu=2`, "y"},
	})
}
