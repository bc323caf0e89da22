package allot_test

import (
	"testing"

	"github.com/allotsched/allot/sim/scenario"
)

// A stabilityCase is a state that once broke a promise of stability, made as
// small as it goes.
type stabilityCase struct {
	// name says what went wrong.
	name string
	text string
}

var stabilityCases = []stabilityCase{
	{"G1, M5: with a grace of 0 what is left of a gang goes in the plan that displaces the rest, or never at this Now", `
nodes n0 gpu=2 lost | nodes n2 gpu=1
policy no-consolidation=yes stale-gang-grace=0
queue q2
submit q2/w10 preemptible set=a gpu=2 set=b gpu=1
run q2/w10 on a@n0[0-1] b@n2[0]
`},
	{"a workload of which no task is submitted has no unit to look at", `
nodes n0 gpu=1
queue q1
submit q1/w2 gpu=1
submit q1/w6 missing=1 gpu=1 or queue=q1 group=g:1 set=a in=g gpu=1 set=b min=1 in=g gpu=1 cpu=1
`},
	{"consolidation finds a room that is there", `
nodes n0 devices=1x,1x:4,1x foreign.gpu=1:0.4 cpu=16 | nodes n1 gpu=2 cpu=2
queue q5
submit q5/w11 at=0 tasks=3 gpu=1 cpu=2
submit q5/w14 at=2 gpu=1
run q5/w14 on n0[2]
`},
	{"S4: what starts where a task of its own workload leaves waits for that", `
nodes n1..n2 gpu=2 | nodes n3 gpu=4
policy gpu-strategy=first
queue q3
submit q3/w4 priority=1 at=1 tasks=3 gpu=0.5
run q3/w4 on 2@n2[0]
submit q3/w8 at=1 tasks=2 gpu=1
run q3/w8 on n2[1] n3[0]
submit q3/w10 at=0 tasks=2 gpu=2
`},
	{"S4: what moves where another task of its workload leaves waits for that", `
nodes n0 gpu=3 | nodes n1 gpu=2 | nodes n2 gpu=1
policy no-consolidation=yes
queue q1 | queue q2 quota=0
submit q1/w3 at=0 set=a gpu=1 set=b gpu=2
submit q2/w7 priority=2 at=2 tasks=2 min=1 gpu=1
run q2/w7 on n0[0] n2[0]
submit q2/w10 priority=3 at=2 tasks=2 gpu=1
`},
	{"P1, S4: what terminates holds its task slots", `
nodes n2 gpu=2 cpu=16 slots=2
queue q3 | queue q5 | queue q7
submit q3/w10 ending set=a gpu=1 or queue=q7 tasks=3 min=2 gpu=1
terminate q3/w10 form=1 on n2[0] n2[1]
submit q5/w14 tasks=2 gpu=2 or queue=q3 cpu=1
`},
	{"M4: what keeps its place does not move", `
nodes n1 gpu=2 gpumem=4
policy gpu-strategy=spread
queue q2 weight=1 | queue q6 weight=1
submit q6/w10 at=1 gpu=1
submit q2/w14 at=0 tasks=2 gpumem=1
run q2/w14 on 1@n1[1]
`},
	{"M4, M6: a gang completed in the same plan is moved, shrunk and started once", `
nodes n1 gpu=2 cpu=16 | nodes n2 gpu=1 cpu=16
policy no-consolidation=yes
queue q2 cpu.quota=0
submit q2/w5 priority=1 at=1 gpu=1 cpu=2
submit q2/w7 at=0 set=a gpu=1 set=b tasks=2 min=1 gpu=1 cpu=1
run q2/w7 on b@n2[0] b@n1[1]
`},
	{"L1: growing goes by steps", `
nodes n1 gpu=3
policy no-consolidation=yes
queue q2
submit q2/w12 tasks=4 min=1 step=halving gpu=1
`},
	{"L1, M6: shrinking goes by steps", `
nodes n0 gpu=1 gpumem=4 | nodes n2 gpu=1
policy no-consolidation=yes
queue q9 limit=1
submit q9/w14 tasks=4 min=1 step=halving gpumem=1
run q9/w14 on n0[0] n0[0] n0[0] n2[0]
submit q9/w18 priority=2 gpu=0.25
`},
	{"S6, X1: what ends for good does not wait", `
nodes n1 gpu=1
policy no-consolidation=yes preempted-exit-code=3006 exit=3006:fail
queue q3
submit q3/w13 gpu=1
run q3/w13 on n1[0]
submit q3/w14 priority=2 gpu=1
`},
	{"G5: what was evicted waits in the queue of its first form", `
nodes n0 | nodes n1 gpu=1 cpu=16
pool p0 nodes=n0 | pool p1 nodes=n1
policy pool=p0 no-consolidation=yes | policy pool=p1 no-consolidation=yes
queue q2 pool=p0 | queue q7 pool=p1 quota=1 | queue q8 pool=p1
submit q2/w12 gpu=1 or queue=q8 tasks=4 min=1 step=halving gpu=1 cpu=2
run q2/w12 form=1 on n1[0]
submit q7/w20 gpu=1
`},
	{"C1, S6: to move is not to be evicted, so it ends nothing", `
nodes n0 gpu=1 | nodes n3 gpu=1 cpu=16
queue q1
submit q1/w2 at=1 retries=0 gpu=1
run q1/w2 on n3[0]
submit q1/w4 at=1 gpu=1 cpu=1
`},
	{"S4: what starts where a part of another leaves waits for that", `
nodes n0 gpu=3 cpu=16 | nodes n1 gpu=2 cpu=4
queue q3
submit q3/w4 at=0 cpu=1
submit q3/w5 at=1 set=a gpu=1 set=b cpu=1
terminate q3/w5 on b@n1
submit q3/w7 at=2 gpu=1 cpu=1
run q3/w7 on n0[2]
submit q3/w8 at=0 gpu=1 cpu=2
submit q3/w10 at=1 gpu=3
`},
	{"S4: a claim that starts, is lost again and starts anew is one thing", `
nodes n0 gpu=3 | nodes n1..n2 gpu=2
policy lower-first=yes queueing=strict-pool no-consolidation=yes
queue q2
submit q2/w4 priority=3 at=3 tasks=3 min=1 gpu=1
claim q2/w4 on n0[0] n2[0] n0[1]
submit q2/w6 at=0 gpu=1
submit q2/w7 at=1 tasks=3 gpu=1
submit q2/w8 at=3 gpu=3
terminate q2/w8 on n0[0-2]
submit q2/w9 at=2 gpu=2
`},
	{"S4, M5: a claim that has its gang about it starts in the same solve", `
nodes n0 gpu=1 label=zone:a | nodes n1 gpu=1
policy shares=by-demand no-consolidation=yes
queue q4 | queue q5 where=zone:a | queue q6 parent=q5 weight=1 | queue q7 parent=q5 weight=1
submit q6/w9 at=3 gpu=1
terminate q6/w9 on n0[0]
submit q7/w11 at=3 tasks=2 min=1 gpu=1
submit q4/w12 at=2 set=a gpu=1 set=b tasks=2 min=1
claim q4/w12 on a@n0[0] b@n0
`},
	{"consolidation for a gang that the empty cluster cannot take", `
nodes n1 gpu=1 cpu=16 res.fpga=8 | nodes n2 gpu=1
queue q2
submit q2/w11 at=1 tasks=2 gpu=0.25 cpu=1 res.fpga=1
submit q2/w13 at=0 set=a gpu=1
`},
	{"G2, M5: what becomes free with a claim is there to grow into in the same solve", `
nodes n0 gpu=3 | nodes n1 gpu=2 | nodes n2 gpu=3 | nodes n3 gpu=2
policy no-consolidation=yes
queue q1
submit q1/w2 at=0 gpu=2
run q1/w2 on n3[0-1]
submit q1/w4 at=1 gpu=1
run q1/w4 on n1[1]
submit q1/w8 at=2 tasks=2 gpu=3
claim q1/w8 on n0[0-2]
run q1/w8 on n2[0-2]
submit q1/w9 priority=3 at=0 set=a gpu=1 set=b tasks=2 min=1 gpu=1
`},
	// w9, of higher priority, preempts w10 across queues; w10, within its share,
	// takes w9 back as excess of q3 and leaves the unprotected w17. R9's excess
	// and E1's wide scope go round: either must give way.
	{"M5, R9, E1: preemption within the pool and the taking of protected excess do not go round", `
nodes n1 gpu=4 cpu=4 | nodes n2 gpu=2 cpu=16
policy shares=max-min gpu-strategy=spread no-consolidation=yes preempt=pool reclaim=off
queue q1 weight=1 | queue q3 parent=q1 | queue q6 weight=1 tier=1
submit q3/w9 priority=3 at=3 gpu=1 cpu=2
submit q6/w10 at=3 tasks=4 gpu=1 cpu=2
submit q6/w14 at=1 gpu=1
submit q3/w17 at=1 gpu=1
`},
	{"M5, R9, E1: the same with shares by demand", `
nodes n0..n2 gpu=2 | nodes n3 gpu=2 cpu=16 res.fpga=8
policy shares=by-demand no-consolidation=yes preempt=pool reclaim=off
queue q2 weight=2 cpu.weight=1 fpga.weight=1 | queue q3 weight=2 cpu.weight=1 fpga.weight=1
submit q2/w4 at=2 gpu=1 cpu=2
submit q2/w5 at=0 tasks=3 gpu=1
submit q2/w6 at=0 gpu=1
submit q3/w7 priority=2 at=3 gpu=1 cpu=2 res.fpga=1
submit q3/w9 priority=2 at=0 gpu=1
run q3/w9 on n3[1]
submit q2/w10 at=1 set=a gpu=1
submit q2/w11 at=3 gpu=2
submit q3/w12 at=1 gpu=1
`},
	{"S4: what still leaves its old place does not start there anew", `
nodes n0 gpu=2 | nodes n1 gpu=1 | nodes n2 gpu=2
queue q1 | queue q2
submit q1/w9 at=1 tasks=2 min=1 gpu=1
terminate q1/w9 on 1@n1[0]
claim q1/w9 on 1@n2[0]
submit q2/w13 at=0 tasks=2 gpu=2
`},
	{"G2, M5: what was claimed and is reclaimed is there to grow into in the same solve", `
nodes n0 gpu=1 | nodes n2..n3 gpu=2
policy no-consolidation=yes
queue q4 weight=1 | queue q5 quota=3 weight=1
submit q4/w12 at=2 tasks=5 gpu=1
claim q4/w12 on n0[0] n2[0] n2[1] n3[0] n3[1]
submit q5/w13 at=1 tasks=3 min=2 gpu=1
`},
	{"M9, C1: what would have started, until another did beyond the lines, has its consolidation", `
nodes n0 gpu=1 | nodes n1 gpu=2 cpu=16 res.fpga=8 | nodes n2 gpu=2
policy shares=by-demand consolidate-beyond-share=yes
queue q2 | queue q3 parent=q2 fpga.weight=0 | queue q6 fpga.quota=1
submit q3/w9 at=0 tasks=2 gpu=1 res.fpga=1
submit q6/w11 at=1 tasks=3 gpu=1
`},
	{"M9: what was preempted has the reclaim that it would have later", `
nodes n0 gpu=3 | nodes n1 gpu=2 | nodes n2 gpu=2 cordoned | nodes n3 gpu=3
policy shares=max-min no-consolidation=yes
queue q2 weight=1 cpu.weight=1 fpga.weight=1 | queue q3 parent=q2
queue q4 weight=1 cpu.weight=1 fpga.weight=1 | queue q5 parent=q4
submit q3/w7 at=1 tasks=3 gpu=1
submit q5/w8 at=2 tasks=2 min=1 step=halving gpu=1
run q5/w8 on n0[0] n2[1]
submit q3/w9 at=1 tasks=2 gpu=1
submit q5/w10 priority=1 at=0 gpu=1
submit q5/w11 priority=2 at=2 tasks=2 gpu=1
`},
	{"M9, G2: what is above a minimum reclaims from what this solve has started", `
nodes n0 gpu=2 | nodes n1 gpu=3
policy order=priority-first shares=max-min no-consolidation=yes
queue q1 weight=1 | queue q2 parent=q1 | queue q4 weight=1
submit q4/w9 at=3 gpu=1
run q4/w9 on n0[0]
submit q2/w11 at=3 ending tasks=2 gpu=1
terminate q2/w11 on n1[1] n1[2]
submit q2/w12 at=0 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1
submit q4/w14 priority=3 at=3 gpu=1
submit q4/w15 priority=3 at=2 tasks=3 gpu=1
`},
	// A claim counts from when it was given, as what runs does: otherwise what
	// may not be taken under Apply may be taken under Begin.
	{"M1, S4: the minimum runtime guards a claim as it guards what runs", `
nodes n1 gpu=2 foreign.gpu=0:1
policy no-consolidation=yes min-runtime.reclaim=20
queue q1 weight=1 | queue q2 parent=q1 quota=2 | queue q3 weight=1 | queue q4 parent=q3
submit q4/w8 priority=3 at=3 gpu=1
submit q4/w10 at=0 gpu=2
run q4/w10 since=100 on n1[0-1]
submit q2/w13 at=3 gpu=1
`},
	{"M9, E7: what was preempted takes what its share still lets it, in the same solve", `
nodes n1 gpu=2 cpu=4
policy shares=by-demand no-consolidation=yes
queue q3 | queue q6
submit q3/w11 at=0 tasks=3 min=1 step=halving gpu=1 cpu=2
run q3/w11 on n1[1]
submit q6/w13 at=3 gpu=1 cpu=1
run q6/w13 on n1[0]
submit q3/w16 priority=2 at=1 tasks=4 min=1 step=halving cpu=1
`},
	{"G2, M5: the next task above the minimum has its turn after every claim that goes", `
nodes n1 gpu=1 | nodes n2 gpu=2
policy shares=by-demand no-consolidation=yes
queue q6 weight=1 | queue q7 weight=1
submit q7/w9 at=1 tasks=2 gpu=1
claim q7/w9 on n1[0] n2[1]
submit q6/w11 at=0 tasks=3 min=1 gpu=1
`},
	{"G2, G3, M5: so has the next child of a group", `
nodes n1 gpu=2
policy shares=by-demand no-consolidation=yes
queue q3 | queue q5
submit q5/w6 at=2
terminate q5/w6 on n1
submit q3/w9 at=1 gpu=2
run q3/w9 on n1[0-1]
submit q5/w10 at=0 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1
`},
	{"G2, M5: so has the next task where others leave", `
nodes n1 gpu=1 | nodes n2 gpu=4 | nodes n3 gpu=2
policy no-consolidation=yes
queue q1 max-workloads=3 | queue q2 parent=q1 | queue q3 parent=q1 quota=2
submit q2/w4 at=3 gpu=1
run q2/w4 since=90 on n1[0]
submit q2/w7 at=0 gpu=2
terminate q2/w7 on n2[0-1]
submit q2/w8 at=0 gpu=1
run q2/w8 since=20 on n3[0]
submit q2/w9 at=3 set=a gpu=2
run q2/w9 since=89 on a@n2[2-3]
submit q3/w10 at=3 tasks=2 min=1 gpu=1
`},
	{"G2, M5: and makes room again after every claim that goes", `
nodes n0 gpu=1 | nodes n1 gpu=2
policy no-consolidation=yes
queue q2 quota=1 | queue q4 | queue q5 parent=q4 weight=1 | queue q6 parent=q4 weight=1
submit q5/w7 at=0 gpu=1
run q5/w7 since=1 on n0[0]
submit q2/w9 at=1 tasks=3 min=2 gpu=1
submit q6/w11 at=2 gpu=1
claim q6/w11 since=9 on n1[1]
`},
	{"G2, M5: what is above a minimum reclaims again while it may", `
nodes n0 gpu=3 | nodes n1 gpu=2
policy shares=max-min no-consolidation=yes
queue q1 weight=1 | queue q2 weight=1 tier=1
submit q1/w3 at=2 group=g:1 set=a in=g gpu=1 set=b tasks=2 in=g gpu=1
run q1/w3 on a@n0[0] b@n1[0] b@n0[1]
submit q2/w5 at=0 tasks=2 min=1 gpu=2
submit q2/w7 at=2
terminate q2/w7 on 1@n0
`},
	{"G2, M5: also from claims behind what leaves", `
nodes n0 gpu=2 | nodes n1..n2 gpu=3 | nodes n3 gpu=2
policy no-consolidation=yes
queue q2 weight=1 | queue q3 quota=1 weight=3
submit q2/w4 at=0 gpu=1
run q2/w4 since=100 on n2[0]
submit q2/w5 at=2 gpu=1
terminate q2/w5 on n2[1]
submit q2/w7 at=0 tasks=2 gpu=2
claim q2/w7 since=94 on n0[0-1] n2[1-2]
submit q2/w9 at=1 gpu=1
run q2/w9 since=90 on n1[0]
submit q3/w10 at=2 set=a gpu=1 set=b tasks=2 min=1 gpu=1
submit q3/w11 at=2 tasks=3 gpu=1
run q3/w11 since=69 on n1[1] n1[2] n3[1]
`},
	// Otherwise the host starts it only to end it, and it loses a retry.
	{"S4, S6: a claim that is taken does not start first, and its workload is not evicted", `
nodes n0 gpu=2
policy no-consolidation=yes
queue q2
submit q2/w7 at=1 retries=0 gpu=2
claim q2/w7 on n0[0-1]
submit q2/w9 priority=2 at=1 gpu=1
`},
	{"P1, S4: task slots behind what leaves are given once", `
nodes n0 devices=1x:4,1x slots=3 | nodes n1 gpu=2 | nodes n2 gpu=4
policy no-consolidation=yes
queue q1 weight=1 | queue q2 weight=1
submit q2/w3 at=3 gpu=1 tasks=2
run q2/w3 since=63 on n2[0] n2[1]
submit q2/w5 priority=50 at=1
submit q1/w6 priority=50 at=1 gpu=1
claim q1/w6 since=71 on n1[0]
submit q1/w7 priority=50 at=2 group=g:1 set=a in=g gpu=2 set=b in=g gpu=1
claim q1/w7 since=80 on b@n1[1]
submit q2/w8 priority=50 at=1 gpu=0.5
run q2/w8 since=94 on n0[0]
submit q1/w11 priority=50 at=0 set=a gpu=1 set=b gpumem=1
terminate q1/w11 since=66 on b@n0[0]
submit q2/w12 priority=50 at=0 tasks=2 gpu=1
`},
	{"G1, G5, S5: what goes as stale tries its other forms when it has left", `
nodes n0 gpu=4 cpu=16 res.fpga=8
policy order=global no-consolidation=yes stale-gang-grace=0
queue q2 | queue q3
submit q3/w8 at=1 gpu=1
submit q2/w11 at=3 tasks=2 gpu=1 or queue=q3 gpu=1 cpu=2 res.fpga=1
run q2/w11 since=90 on 1@n0[2]
submit q3/w13 at=1 set=a gpu=1 set=b gpu=1
`},
	// Behind what leaves is only what does not fit beside it.
	{"S4, G2, M5: what fits beside what leaves is not behind it, and grows", `
nodes n0 gpu=2 cpu=16 res.fpga=8 | nodes n2 gpu=2 cpu=16 res.fpga=8
policy no-consolidation=yes
queue q2
submit q2/w5 priority=1 at=1 gpu=0.5
submit q2/w7 at=0 tasks=3 gpu=1
run q2/w7 since=76 on 1@n2[0] 2@n2[1]
submit q2/w11 at=0 gpu=0.25 res.fpga=1
terminate q2/w11 since=87 on n0[0]
submit q2/w12 priority=1 at=3 tasks=3 min=2 gpu=1 cpu=2 res.fpga=1
`},
	{"S4, G2, M5: and makes room for more", `
nodes n1 gpu=1 cpu=16 | nodes n2 gpu=4 cpu=16
policy no-consolidation=yes
queue q1 quota=3 | queue q3 parent=q1 weight=1 | queue q4 parent=q1 weight=1 | queue q7
submit q3/w8 priority=1 at=1 tasks=2 gpu=1
submit q4/w9 at=1 gpu=1
claim q4/w9 since=94 on n2[0]
submit q7/w10 at=3 tasks=2 min=1 gpu=1
claim q7/w10 since=97 on n1[0] n2[1]
submit q3/w12 at=3 cpu=2
terminate q3/w12 since=71 on n2
submit q3/w14 at=0 tasks=2 min=1 gpu=1 cpu=1
`},
	{"S4, M5: who may claim behind what leaves does so after a move there in the same solve", `
nodes n0 devices=1x:4,1x | nodes n1 devices=1x:4,3x
policy shares=max-min straddle=spare
queue q2 weight=1 cpu.weight=1 | queue q3 weight=1 cpu.weight=1 | queue q4 parent=q3
submit q2/w5 at=2 tasks=2 gpumem=1
run q2/w5 since=94 on n0[0] n1[0]
submit q2/w6 at=2 gpu=3
run q2/w6 since=97 on n1[1-3]
submit q4/w7 at=1 gpu=0.5
submit q4/w8 at=3 gpu=2
submit q2/w11 at=1 set=a gpu=1 set=b gpu=0.6
terminate q2/w11 since=74 on b@n1[0]
submit q4/w12 priority=2 at=3 tasks=2 gpu=1
`},
	{"S4, Q10, M5: nor is what fits on a device beside what leaves behind it", `
nodes n0 gpu=1 | nodes n1 gpu=1 gpumem=4
policy no-consolidation=yes
queue q3 weight=1 | queue q4 max-workloads=1 weight=1
submit q4/w5 priority=1 at=2 tasks=2 min=1 gpu=0.25
submit q4/w6 at=0 gpu=1
run q4/w6 since=72 on n0[0]
submit q3/w7 at=2 gpumem=1
terminate q3/w7 since=98 on 2@n1[0]
`},
	{"S4, C1, M5: nor does it wait for its consolidation", `
nodes n1 gpu=1 | nodes n2 gpu=2 cpu=16
policy lower-first=yes
queue q2
submit q2/w3 at=2 tasks=2 min=1 gpu=1 cpu=1
submit q2/w4 priority=2 at=1 set=a gpu=1 set=b gpu=1
run q2/w4 since=62 on a@n1[0] b@n2[0]
submit q2/w8 at=3 cpu=1
terminate q2/w8 since=95 on n2
submit q2/w10 at=1 gpu=1
`},
	{"S5: what is evicted starts with other tasks when it has left", `
nodes n0 gpu=4
policy lower-first=yes no-consolidation=yes
queue q4 | queue q6
submit q6/w8 priority=1 at=2 group=g:1 set=a in=g gpu=1 set=b in=g gpu=0.6
run q6/w8 on a@n0[1]
submit q4/w12 at=2 set=a gpu=1 set=b gpu=1
submit q6/w13 at=3 tasks=5 gpu=0.25
`},
	{"S4: what starts where a task of its own leaves for good waits for that", `
nodes n1 gpu=2
policy no-consolidation=yes
queue q2 | queue q3
submit q3/w4 priority=2 at=3 tasks=2 gpu=0.5
submit q3/w6 at=3 gpu=1
run q3/w6 since=86 on n1[0]
submit q2/w8 at=1 gpu=0.25
submit q3/w9 at=1 gpu=0.25
terminate q3/w9 since=96 on 1@n1[1]
`},
	{"S4, G2, M5: nor does an extra wait behind what leaves of other devices", `
nodes n0 gpu=3 cpu=6 | nodes n1 devices=1x,1x:4 cpu=6
policy cpu-only-apart=yes gpu-strategy=spread no-consolidation=yes
queue q1
submit q1/w2 priority=3 at=1 gpu=1 cpu=1
submit q1/w3 priority=2 at=0 set=a gpu=1 cpu=2 set=b gpu=1
run q1/w3 since=91 on a@n0[0]
submit q1/w5 priority=2 at=2 tasks=2 min=1 gpu=0.5 cpu=2
submit q1/w6 at=0 group=g:1 set=a in=g gpu=1 set=b tasks=2 in=g gpumem=2
terminate q1/w6 since=90 on b:1@n1[1]
submit q1/w7 at=0 tasks=4 cpu=2
`},
	{"P1, S4: what starts beside what waits makes that wait for more", `
nodes n0 gpu=3 cpu=4 | nodes n1 gpu=2 cpu=16 res.fpga=8
queue q2 quota=1 | queue q3 quota=3
submit q3/w6 at=2 cpu=1
run q3/w6 on n0
submit q3/w7 at=0 ending gpu=1
terminate q3/w7 on n1[1]
submit q3/w12 at=1 tasks=2 gpu=1 cpu=2
submit q2/w13 at=0 tasks=3 min=1 gpu=1 cpu=1
`},
	{"G1, S4: claims that others have made too few to start stay claims", `
nodes n0..n1 gpu=2
policy no-consolidation=yes
queue q1 weight=1 | queue q2 quota=1 weight=1
submit q1/w3 at=0 tasks=2 gpu=1
terminate q1/w3 since=66 on n0[0]
submit q2/w5 at=2 tasks=4 min=2 gpu=0.6
claim q2/w5 since=85 on n0[0] n0[1] n1[0] n1[1]
submit q2/w6 priority=3 at=3 gpu=1
`},
	{"G2, S4: claims that start together with others start as the minimum first", `
nodes n1 gpu=4 cpu=16 res.fpga=8 | nodes n2 gpu=1 cpu=4
queue q2
submit q2/w3 at=3 tasks=2 gpu=0.25 cpu=2
submit q2/w4 at=2 tasks=2 gpu=2
submit q2/w5 at=2 set=a gpu=0.5 set=b tasks=2 min=1 cpu=2
claim q2/w5 since=64 on a@n2[0] b@n2
`},
	{"C3: what was itself preempted consolidates for all that it asks", `
nodes n0 gpu=2 cpu=16 res.fpga=8 | nodes n1 gpu=3 cpu=4
policy max-moved-percent=50 reclaim=off preempt=pool
queue q3 created=1 | queue q4
submit q3/w8 at=3 tasks=2 gpu=1 cpu=2
submit q4/w10 priority=3 at=3 gpu=1 cpu=1
terminate q4/w10 since=84 on n0[0]
submit q4/w11 at=0 gpu=1
claim q4/w11 since=68 on n0[0]
submit q4/w12 at=0 gpu=1
`},
	{"M7: a move disrupts", `
nodes n0 gpu=4 cpu=4 | nodes n1 gpu=3 cpu=4 | nodes n2 gpu=1 cpu=16 res.fpga=8
queue q2 | queue q3
submit q3/w5 at=1 owner=ann gpu=1 cpu=2
submit q3/w6 at=1 tasks=2 gpu=1 cpu=2
submit q2/w7 at=2 owner=bob tasks=2 gpu=1 cpu=1
run q2/w7 since=95 on n2[0] n1[1]
submit q3/w8 at=3 owner=ann set=a gpu=1
submit q3/w10 at=0 owner=ann group=g:1 set=a in=g gpu=1 cpu=1 set=b in=g gpu=1
run q3/w10 since=91 on a@n0[3]
budget ann min-running=3
budget bob min-running=2
`},
	{"S6, F1: what is evicted for good in part and kept in part is still wanted", `
nodes n0 gpu=2 cordoned | nodes n2 gpu=2
policy queueing=strict-queue no-consolidation=yes preempted-exit-code=3006 exit=3006:fail
queue q5 quota=3 | queue q6
submit q6/w11 at=0 group=g:1 set=a in=g gpu=2 set=b tasks=2 min=1 in=g gpu=1
run q6/w11 on a@n2[0-1] b@n0[1]
submit q5/w15 at=2 gpu=1
`},
	{"C2, M5: what has been moved once is moved again for the next in the same solve", `
nodes n0 gpu=2 cpu=16 res.fpga=8 | nodes n1 gpu=3 cpu=6 res.fpga=1 | nodes n2 gpu=2
queue q1
submit q1/w6 at=1 tasks=4 min=1 gpu=1
run q1/w6 on n0[0] n0[1] 3@n1[1]
submit q1/w9 at=1 gpu=1 res.fpga=1
submit q1/w14 at=0 tasks=2 gpu=1 res.fpga=1
`},
	{"R1: room for an extra is judged by the extra", `
nodes n0 gpu=4 cpu=16 res.fpga=8 | nodes n1 devices=1x:4,1x foreign.gpu=0:1 | nodes n2..n3 gpu=3
policy no-consolidation=yes
queue q1 weight=1 cpu.weight=1 | queue q2 parent=q1 weight=1 | queue q3 weight=0 cpu.weight=1 | queue q4 parent=q3 quota=2 cpu.quota=0
submit q4/w9 at=1 set=a gpu=2 set=b gpu=1
run q4/w9 on b@n2[2] a@n3[0-1]
submit q4/w13 at=3 tasks=2 gpu=1
run q4/w13 on n2[0] n2[1]
submit q2/w15 at=1 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1
submit q2/w20 at=2 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1
submit q2/w21 at=1 set=a gpu=1 cpu=1 set=b tasks=2 min=1 gpu=1
`},
	{"S4, M6: who is shrunk keeps what it claims by a move", `
nodes n1 gpu=3
policy no-consolidation=yes
queue q3
submit q3/w5 at=0 tasks=2 min=1 gpu=1
run q3/w5 on 1@n1[0]
claim q3/w5 since=3 on n1[2]
submit q3/w11 priority=3 at=1 set=a gpu=1 set=b gpu=1
`},
	{"G5, S5: who has left may make room for its other form", `
nodes n0 gpu=2 | nodes n2 gpu=2 cpu=16 res.fpga=8
policy shares=max-min no-consolidation=yes
queue q4 | queue q7
submit q4/w12 at=0 gpu=1
run q4/w12 on n0[0]
submit q4/w13 at=0 tasks=2 gpu=1 or queue=q7 tasks=4 min=1 step=halving gpu=1 cpu=2
run q4/w13 on 1@n2[0]
submit q7/w18 at=0 gpu=1
submit q4/w23 priority=3 at=3 tasks=4 min=1 step=halving gpu=1
`},
	{"C1: what stays of what moves keeps its place while the others look for theirs", `
nodes n0 gpu=4 | nodes n1 gpu=2 | nodes n2 gpu=4 | nodes n3 gpu=2
queue q1 | queue q2 parent=q1 min-runtime.preempt=20 weight=1 cpu.weight=1 | queue q3 parent=q2
queue q4 parent=q1 weight=1 cpu.weight=1 | queue q5 parent=q4 | queue q6
submit q3/w7 at=1 gpu=1
run q3/w7 since=100 on n0[2]
submit q3/w8 at=3 tasks=4 gpu=1
run q3/w8 since=100 on n3[0] 2@n0[0] 3@n0[1]
submit q6/w13 at=1 set=a gpu=1 set=b tasks=2 min=1 gpu=2
run q6/w13 since=100 on a@n2[3] b@n1[0-1] b@n2[0-1]
submit q5/w16 at=0 gpu=2
`},
	{"M9: who was taken in its turn, and starts again, is not whom the first one went for", `
nodes n0 gpu=2 cpu=16 res.fpga=8 | nodes n1 gpu=2 | nodes n2 gpu=1
policy no-consolidation=yes
queue q1 cpu.quota=2 | queue q2 quota=2
submit q1/w3 at=1 tasks=2 gpu=1
run q1/w3 since=65 on n2[0] n0[0]
submit q1/w5 at=2 gpu=1
run q1/w5 since=65 on n1[0]
submit q1/w7 at=2 gpu=1
run q1/w7 since=65 on n1[1]
submit q2/w8 priority=3 at=0 tasks=2 gpu=1
submit q2/w12 at=50 set=a set=b gpu=1 cpu=2
claim q2/w12 on a@n1 b@n0[1]
submit q2/w14 at=49 gpu=1
`},
	{"M2, M9: who moves for an extra that is taken moves for whom that is taken", `
nodes n0..n1 gpu=2 | nodes n3 gpu=2
policy shares=max-min consolidate-beyond-share=yes
queue q1 weight=0 | queue q2 parent=q1
submit q2/w13 priority=3 at=0 gpu=1
submit q2/w15 at=3 group=g:1 set=a in=g gpu=1 set=b tasks=2 in=g gpu=2
run q2/w15 on a@n1[0]
submit q2/w18 at=2 gpu=1
run q2/w18 on n0[0]
`},
	{"Q5: what is kept from lending is judged when all have started", `
nodes n0 gpu=4 | nodes n1 gpu=2 cordoned | nodes n2..n3 gpu=2
policy default-class=NORMAL no-consolidation=yes preempted-status=FAILED_PREEMPTED preempted-exit-code=3006 class=HIGH:125:non-preemptible class=NORMAL:100:non-preemptible class=LOW:50
queue q1 | queue q2 parent=q1 weight=1 | queue q3 parent=q2 | queue q6 parent=q1 weight=1 | queue q7 parent=q1 quota=3 lend=0 weight=1
submit q7/w8 preemptible at=1 gpu=0.25
submit q3/w11 priority=3 preemptible at=0 tasks=2 min=1 gpu=2
run q3/w11 on n1[0-1] n0[0-1]
submit q6/w12 preemptible at=3 gpu=1
submit q3/w14 preemptible at=3 gpu=1
submit q7/w17 preemptible at=1 tasks=3 min=1 gpu=1
`},
	{"G1, X2: what is left of a stale gang may become part of it whole again", `
nodes n1 gpu=2 | nodes n2 devices=1x:4,2x unhealthy=0 | nodes n3 devices=1x:4,1x unhealthy=0
policy no-consolidation=yes stale-gang-grace=0
queue q2
submit q2/w6 at=2 set=a gpu=1 set=b tasks=2 min=1 gpu=1
run q2/w6 on b@n1[0] b@n1[1]
submit q2/w10 at=3 gpu=1
run q2/w10 on n3[1]
submit q2/w12 at=0 set=a gpu=1 set=b gpu=1
`},
	{"R1, R3: room for an extra is judged by the extra, also from who has no weight", `
nodes n0 gpu=1 | nodes n1 gpu=2
policy default-class=trial shares=by-demand no-consolidation=yes class=trial:42 class=notebook:42:non-preemptible
queue q2 weight=0 | queue q3 weight=1
submit q3/w7 preemptible at=0 tasks=3 gpu=0.5
submit q2/w8 preemptible at=3 gpu=1
run q2/w8 since=95 on n1[1]
submit q3/w11 preemptible at=1 group=g:1 set=a in=g set=b in=g gpu=1
`},
	{"S4, M6: what runs is the minimum before what is claimed", `
nodes n1..n2 gpu=1 | nodes n3 gpu=2
policy no-consolidation=yes
queue q3 quota=2 | queue q6
submit q3/w8 at=2 tasks=2 gpu=1
submit q6/w10 at=1 gpu=1
run q6/w10 on n2[0]
submit q6/w13 at=0 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1
claim q6/w13 since=3 on a@n1[0]
run q6/w13 on b@n3[1]
`},
	{"G5, S4: who loses its claims alone tries its other forms at once", `
nodes n1 gpu=3
policy no-consolidation=yes
queue q1 max-workloads=2 weight=1 cpu.weight=1 | queue q3 parent=q1
queue q4 weight=1 cpu.weight=1 | queue q6 parent=q4
submit q3/w12 at=1 gpu=1 or queue=q6 gpu=1
claim q3/w12 since=64 on n1[2]
submit q3/w13 priority=1 at=0 tasks=3 min=1 step=halving gpu=1
submit q3/w14 priority=2 at=1 gpu=1
`},
	{"M8: what has started in this solve is part of the bounds", `
nodes n0 | nodes n1 devices=1x:4,1x unhealthy=0
pool p0 nodes=n0 | pool p1 nodes=n1
policy pool=p0 no-consolidation=yes | policy pool=p1 order=priority-first queueing=strict-pool no-consolidation=yes
queue q4 pool=p1 weight=1 | queue q6 parent=q4 pool=p1 | queue q9 pool=p1 quota=3 weight=1
submit q9/w13 at=1 gpu=1
submit q6/w14 priority=1 at=2 gpu=1
`},
	{"S4: what is put back to its claim waits behind what leaves as before", `
nodes n0 gpu=4 | nodes n1 gpu=2
policy shares=by-demand no-consolidation=yes
queue q2 weight=0
submit q2/w4 at=2 tasks=2 gpu=1
run q2/w4 since=80 on n1[0] n0[0]
submit q2/w6 at=3 gpu=1
terminate q2/w6 since=65 on n0[2] n0[3]
submit q2/w8 priority=3 at=3 tasks=3 gpu=1
submit q2/w9 priority=2 at=1 gpu=2
`},
	{"G1, C1: a minimum that has come to another place starts before what is above it", `
nodes n1..n3 gpu=3
queue q2
submit q2/w5 priority=2 at=3 set=a gpu=1 set=b tasks=2 min=1 gpu=1
submit q2/w6 at=0 group=g:1 set=a in=g gpu=2 set=b tasks=2 in=g gpu=2
`},
	{"G5: what is put back is in the form that it had", `
nodes n1 gpu=2 | nodes n2 devices=2x,1x:4 cpu=16 res.fpga=8
policy no-consolidation=yes
queue q1 quota=0 | queue q3 parent=q1
submit q3/w5 at=1 gpu=1
run q3/w5 since=73 on n1[0]
submit q3/w6 priority=2 at=2 tasks=2 gpu=1 or queue=q3 tasks=4 min=1 step=halving gpumem=2 cpu=1
submit q3/w7 priority=3 at=1 gpu=2
submit q3/w9 non-preemptible at=3 tasks=2 gpu=1
run q3/w9 since=69 on 1@n2[0]
submit q3/w10 at=0 owner=ann gpu=1
run q3/w10 since=77 on n2[1]
budget ann min-running=3
`},
	{"X2: who was taken and moved since tells why it was taken", `
nodes n1..n2 gpu=4
policy shares=max-min gpu-strategy=spread straddle=spare
queue q2 weight=1 cpu.weight=1 | queue q3 weight=1 cpu.weight=1
submit q2/w6 at=1 gpu=1
submit q3/w7 at=3 tasks=2 gpu=2
run q3/w7 on n1[2-3] n2[0-1]
submit q3/w8 at=0 tasks=2 gpu=2
run q3/w8 on n2[2-3]
submit q3/w9 priority=3 at=3 tasks=3 gpu=0.25
run q3/w9 on n1[1] n1[1] n1[1]
submit q2/w10 at=2 gpu=1
`},
	{"G5, Q6: and charged to its queue", `
nodes n0 gpu=2 label=zone:a | nodes n1 gpu=2 | nodes n3 gpu=3 cpu=16 res.fpga=8
policy lower-first=yes queueing=strict-queue shares=max-min no-consolidation=yes reclaim=off preempt=pool
queue q1 where=zone:a weight=1 cpu.weight=1 fpga.weight=1 | queue q2 parent=q1 | queue q3 parent=q1
queue q5 weight=1 cpu.weight=1 fpga.weight=1 | queue q6 weight=1 cpu.weight=1 fpga.weight=1
submit q6/w8 at=0 tasks=3 gpu=1
submit q6/w9 priority=2 at=0 set=a gpu=1
submit q3/w10 at=2 gpu=1
terminate q3/w10 since=74 on n1[1]
submit q2/w11 at=0 set=a gpu=1 set=b gpu=1
run q2/w11 since=76 on a@n3[0]
submit q3/w12 at=0 gpu=1
submit q5/w13 priority=3 at=0 set=a gpu=1 or queue=q6 cpu=2 res.fpga=1
`},
	{"G5, S4: claims lost in another form are known by that", `
nodes n0 gpu=1 | nodes n1 gpu=2
policy shares=max-min no-consolidation=yes reclaim=off preempt=pool
queue q1 | queue q2 parent=q1 weight=1 | queue q3 parent=q2 | queue q4 parent=q2 | queue q5 parent=q1 weight=1 | queue q6 parent=q5 | queue q7
submit q3/w8 at=2 gpu=1
terminate q3/w8 since=89 on n0[0]
submit q4/w9 at=1 set=a gpu=1 set=b gpu=1 or queue=q7 tasks=2 min=2 gpu=1
claim q4/w9 since=82 on a@n0[0] b@n1[0]
submit q7/w11 at=3 gpu=1
submit q6/w13 priority=2 at=3 gpu=1
`},
	{"O4: the head of a strict queue that was reclaimed is its head again", `
nodes n0 gpu=3
policy lower-first=yes queueing=strict-queue shares=max-min no-consolidation=yes
queue q2 weight=1 | queue q3 weight=1
submit q3/w7 priority=2 at=1 gpu=1
submit q2/w8 at=3 tasks=4 min=1 step=halving gpu=1
submit q3/w9 at=1 tasks=2 gpu=1
`},
	{"G2: what starts anew is not the minimum before what has moved", `
nodes n0 gpu=4 | nodes n1 gpu=1
queue q1
submit q1/w3 at=1 tasks=3 min=2 gpu=0.25
claim q1/w3 since=64 on n0[0] n1[0]
submit q1/w4 at=2 tasks=2 gpu=2
`},
	{"X1: who was evicted and starts with other tasks waits for its own to leave", `
nodes n0 devices=1x,1x:4,1x cpu=4 res.fpga=3
policy default-class=NORMAL no-consolidation=yes preempted-status=FAILED_PREEMPTED preempted-exit-code=3006 class=HIGH:125:non-preemptible class=NORMAL:100:non-preemptible class=LOW:50
queue q4
submit q4/w7 preemptible at=1 group=g:1 set=a in=g gpumem=2 res.fpga=1 set=b in=g gpumem=2 res.fpga=1
run q4/w7 on a@n0[1] b@n0[1]
submit q4/w9 priority=2 preemptible at=0 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1 res.fpga=1
run q4/w9 on b@n0[2]
submit q4/w12 preemptible at=1 gpu=1 cpu=1 res.fpga=1
`},
	{"L1, S4: a ladder starts with its lowest rung, whatever it has claimed", `
nodes n1 gpu=3 slots=3 | nodes n2 gpu=1
queue q3 | queue q4
submit q4/w9 at=0 group=g:1 set=a in=g gpu=1 set=b tasks=2 in=g gpu=1
submit q3/w12 at=0 tasks=3 min=1 step=halving
claim q3/w12 since=99 on n1
submit q3/w13 at=1 set=a gpu=1
`},
	{"P1, S4: what is evicted and starts behind what leaves waits for that", `
nodes n0 gpu=3 cpu=4 | nodes n1 devices=1x,1x:4,2x foreign.gpu=1:1 cpu=4
policy gpu-strategy=spread
queue q2
submit q2/w9 priority=3 at=3 tasks=3 gpu=1 cpu=2
run q2/w9 on 2@n0[1]
submit q2/w10 at=2 ending cpu=1
terminate q2/w10 on 1@n1
submit q2/w11 at=2 gpu=1 cpu=1
submit q2/w13 priority=3 at=1 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1 cpu=1
`},
	{"M2: who moves for an extra that is lost in the same plan moves for whom that is lost", `
nodes n0 gpu=2 cpu=6 res.fpga=3 | nodes n1 cpu=16 res.fpga=8 cordoned | nodes n2 gpu=1 cpu=6 res.fpga=1 | nodes n3 cpu=16 res.fpga=8 cordoned
policy default-class=train non-preemptible-from=100 class=train:50
queue q2 cpu.quota=3
submit q2/w4 at=1 gpu=1
submit q2/w5 at=1 cpu=2
run q2/w5 since=99 on n0
submit q2/w7 priority=2 at=98 tasks=4 min=1 cpu=2 res.fpga=1
run q2/w7 since=99 on n0 2@n3 3@n1 n2
submit q2/w12 at=99 tasks=2 gpu=1 cpu=2
`},
	{"G5, S7: who has lost all of one form tries another by its own counts", `
nodes n0..n1 gpu=2 | nodes n2 gpu=1 lost
policy shares=max-min no-consolidation=yes
queue q3 | queue q4 | queue q5 parent=q4 weight=1 cpu.weight=1 | queue q6 parent=q4 weight=1 cpu.weight=1
submit q6/w8 at=3 gpu=1
run q6/w8 on n0[0]
submit q3/w9 at=0 tasks=3 gpu=1
run q3/w9 on n0[1] n1[0] n1[1]
submit q5/w10 priority=2 at=3 group=g:1 set=a in=g gpu=1 set=b in=g gpu=1 or queue=q3 tasks=2 gpu=0.6 cpu=2
run q5/w10 on a@n2[0]
submit q5/w12 at=1 gpu=1
`},
	{"O4: who started behind a head that was reclaimed since keeps its place", `
nodes n0 gpu=1
policy queueing=strict-pool shares=by-demand no-consolidation=yes
queue q3 | queue q6 quota=2
submit q6/w14 at=3 set=a gpu=1
submit q3/w15 at=1 gpu=1
submit q6/w21 at=10 set=a
`},
	{"R1, G3: a minimum by another choice is judged by itself", `
nodes n2 gpu=2 cpu=4 res.fpga=1
policy no-consolidation=yes
queue q1 weight=1 cpu.weight=1 fpga.weight=1 | queue q2 parent=q1 quota=1 fpga.quota=3 | queue q3 parent=q1 | queue q6 weight=1 cpu.quota=2 cpu.weight=1 fpga.weight=1
submit q3/w10 at=3 tasks=3 cpu=2 res.fpga=1
run q3/w10 since=95 on 2@n2
submit q2/w14 at=3 group=g:1 set=a in=g gpu=1 cpu=1 set=b in=g gpu=1 res.fpga=1
`},
	{"L1: what starts as a whole and moves in part starts as a whole", `
nodes n1 gpu=4 cpu=6 res.fpga=2 | nodes n2 gpu=1 cpu=16 res.fpga=8
queue q1 weight=1 cpu.weight=1 fpga.weight=1 | queue q3 parent=q1 | queue q4 weight=1 cpu.weight=1 fpga.weight=1 | queue q6 parent=q4
submit q3/w7 at=0 tasks=4 min=1 step=halving gpu=1 cpu=1
submit q6/w13 at=2 group=g:1 set=a in=g cpu=2 set=b in=g gpu=1 cpu=2
`},
	{"G5: a step of another form is not put back", `
nodes n0..n2 gpu=2
policy no-consolidation=yes preempted-exit-code=3006 exit=3006:fail
queue q2 quota=2 weight=1 | queue q4 weight=1
submit q2/w5 at=0 ending gpu=1
terminate q2/w5 on n2[0]
submit q4/w6 at=2 set=a gpu=1
run q4/w6 on a@n2[1]
submit q4/w7 priority=3 at=2 tasks=2 gpu=1
run q4/w7 on n1[0] n1[1]
submit q2/w9 priority=3 at=0 gpu=2
submit q2/w11 priority=1 at=1 gpu=1 or queue=q4 tasks=4 min=1 step=halving gpu=0.5
submit q4/w12 priority=3 at=1 tasks=2 gpu=1
`},
	{"S4, C1: a claim of a task that waits for its old place starts while another moves", `
nodes n0 gpu=1 | nodes n1..n2 gpu=2 | nodes n3 gpu=1
queue q3 | queue q6 | queue q8
submit q6/w9 at=1 gpu=0.5
run q6/w9 since=96 on n0[0]
submit q3/w10 at=1 gpu=2
submit q6/w11 at=3 ending gpu=1
terminate q6/w11 since=73 on 2@n2[1]
submit q6/w12 at=4 tasks=2 min=1 gpu=1
submit q8/w14 at=1 gpu=1
submit q6/w16 at=3 tasks=2 gpu=0.25
run q6/w16 since=96 on n3[0] n2[0]
`},
}

// Whatever the host does, each of these comes to rest now.
func TestStabilityCases(t *testing.T) {
	for _, c := range stabilityCases {
		t.Run(c.name, func(t *testing.T) {
			s, err := scenario.State(c.text + "\nnow 100\n")
			if err != nil {
				t.Fatal(err)
			}
			for mode := range hostModes {
				for seed := range uint64(5) {
					how := schedule{mode: mode, seed: seed}
					if _, broken := rest(s, how, newStabilityStats()); broken != nil {
						t.Fatalf("%v\n%s", broken, (&failure{s, how, "", broken}).scenario())
					}
				}
			}
		})
	}
}
