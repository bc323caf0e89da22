package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/sim/scenario"
)

// forecastOf are the lines of the forecasts after the decision on a state, with the hours alone of what is told to
// the hour.
func forecastOf(t *testing.T, state string) string {
	t.Helper()
	var told []string
	for _, f := range must(Forecasts(t.Context(), decide(t, must(scenario.State(state))), 100)) {
		told = append(told, inHours.ReplaceAllString(f.String(), "${1}h"))
	}
	return strings.Join(told, "\n")
}

// B10: what the plan has decided stands as it is played on: nobody starts at once whom it has refused, or goes
// whom it has left where it runs.
func TestForecastsPlayThePlanOn(t *testing.T) {
	for name, one := range map[string]struct{ state, want string }{
		// By its limit s is in the way of c for ever (N89): it starts behind c.
		"does not pass without a limit": {`
policy reserve.backfill=easy no-consolidation
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=1h at=1h
now 1h
`, `c: 10h on n1[0] n2[0] after a, promised
s: 15h on n1[0] after c`},
		// It passes where it has ended by then for sure; c waits for its end too, from the start that is foreseen.
		"passes with a limit": {`
policy reserve.backfill=easy no-consolidation
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
run b gpu=1 for=2h limit=2h at=0h since=0h non-preemptible on n2
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=1h at=1h limit=2h
now 1h
`, `c: 10h on n1[0] n2[0] after a, s, promised
s: 2h on n2[0] after b`},
		"does not pass later without a limit": {`
policy reserve.backfill=easy no-consolidation
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
run b gpu=1 for=2h limit=2h at=0h since=0h non-preemptible on n2
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=1h at=1h
now 1h
`, `c: 10h on n1[0] n2[0] after a, b, promised
s: 15h on n1[0] after c`},
		// There is a GPU for m, with which n could reclaim what ran there before (M9); so there is until old has ended.
		"exposes nobody": {`
policy preset=osmo exit=3006:fail
nodes n0 gpu=1
nodes n1 gpu=2
queue p1 quota=2
queue p2 nodes=n0 quota=1
run p1/old class=LOW gpu=1 for=10h at=0h since=0h on n0
submit p1/l class=LOW gpu=1 for=20h at=1h
submit p1/m class=LOW gpu=1 for=1h at=2h
submit p2/n gpu=1 for=1h at=3h
now 3h
`, `p1/m: 10h on n1[1]
p2/n: 10h on n0[0] after old`},
		"does not pass a reservation": {`
policy no-consolidation
nodes n1..n3 gpu=1
reserve m from=6h until=8h on n1 n2 n3
submit a gpu=1 for=2h at=0h
now 1h
`, `a: 8h on n1[0]`},
		// A promise is told to whoever is told of it: s, which is within its lines and is promised nothing itself, is
		// laid beside it.
		"keeps what is promised": {`
policy reserve.backfill=easy reserve.gangs-only no-consolidation
nodes n1..n2 gpu=1
queue p quota=0
queue q quota=2
run q/a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
run q/b gpu=1 for=4h limit=4h at=0h since=0h non-preemptible on n2
submit p/c tasks=2 gpu=1 for=5h limit=5h at=0h
submit q/s gpu=1 for=8h limit=8h at=1h
now 1h
`, `p/c: 10h on n1[0] n2[0] after a, b, promised
q/s: 15h on n1[0] after c`},
		// c rather waits until 10 h; v2 has gone for g, and nobody goes once more.
		"makes no room": {`
policy reserve.backfill=easy reserve.rather-wait=1h no-consolidation
nodes n1..n2 gpu=1
queue q1 quota=1
queue q2 quota=1
queue r quota=0
run r/v gpu=1 for=10h limit=10h at=0h since=0h on n1
run r/v2 gpu=1 for=12h limit=12h at=0h since=0h on n2
submit q1/c gpu=1 for=5h limit=5h at=9h
promise q1/c start=10h made=9h first=10h entitled on n1[0]
submit q2/g gpu=1 at=9h
now 9h
`, `q1/c: 10h on n1[0] after v, promised
r/v2: 15h on n1[0] after c`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(one.want, forecastOf(t, one.state)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// B10: whoever waits for its time is played to that time, beside those who ask before it.
func TestForecastsPlayToItsTime(t *testing.T) {
	for name, one := range map[string]struct{ state, want string }{
		"on an empty cluster": {`
nodes n1 gpu=1
submit w gpu=1 for=1h not-before=5h at=0h
now 1h
`, `w: 5h on n1[0]`},
		"behind what runs": {`
nodes n1 gpu=1
run a gpu=1 for=10h at=0h since=0h on n1
submit w gpu=1 for=1h not-before=5h at=0h
now 1h
`, `w: 10h on n1[0] after a`},
		// x asks before y and z do, which have been submitted before it; of these z asks first. All are alike.
		"beside who asks before": {`
nodes n1 gpu=1
run a gpu=1 for=2h at=0h since=0h on n1
submit y gpu=1 for=4h not-before=6h at=1s
submit z gpu=1 for=4h not-before=5h at=2s
submit x gpu=1 for=4h at=3s
now 1h
`, `x: 2h on n1[0] after a
y: 10h on n1[0] after z
z: 6h on n1[0] after x`},
		// It has let go after 2 h, and asks for nothing for as long.
		"behind what it gathered": {`
policy reserve.backfill=easy reserve.gather reserve.max-hold=2h no-consolidation
nodes n1..n3 gpu=1
run x gpu=1 at=0h since=0h non-preemptible on n1
run b gpu=1 for=3h limit=3h at=0h since=0h non-preemptible on n3
submit g tasks=2 gpu=1 for=1h limit=1h at=0h held-since=0h
promise g rule=gathering made=0h on n1[0] n2[0]
now 2h
`, `g: 4h on n2[0] n3[0] after b`},
		// What q keeps from lending binds nobody once it is promised, so that all are tried earlier: not before its time.
		"where something is kept from lending": {`
policy no-consolidation
nodes n1..n2 gpu=1
queue q quota=2 lend=1
queue r quota=0
run r/a gpu=1 for=2h at=0h since=0h on n1
run r/b gpu=1 for=3h at=0h since=0h on n2
submit r/w gpu=1 for=1h not-before=5h at=0h
submit q/v tasks=2 gpu=1 for=1h at=0h not-before=7h
now 1h
`, `q/v: 7h on n1[0] n2[0] after w
r/w: 5h on n1[0] after a, b`},
		// What asks for nothing yet is no demand: of 4 GPUs b and r have a share of 2 each, and d is first; beside what l
		// asks b would have 1, and e would be first.
		"counts for nothing before": {`
policy no-consolidation
nodes n1..n2 gpu=1 label=a:1
nodes n3..n4 gpu=1
queue b quota=0 weight=1
queue p quota=0 weight=1
queue r quota=0 weight=2
run r/x gpu=1 for=4h at=0h since=0h on n1
run b/y gpu=1 for=8h at=0h since=0h on n2
submit b/d gpu=1 for=4h at=2h selector=a:1
submit r/e gpu=1 for=4h at=2h selector=a:1
submit p/l tasks=4 gpu=1 for=4h not-before=5h at=0h
now 3h
`, `b/d: 4h on n1[0] after x
r/e: 8h on n1[0] after d
p/l: 12h on n1[0] n2[0] n3[0] n4[0] after e, y`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(one.want, forecastOf(t, one.state)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// B10, O4: who may not pass the head of its queue is played on to the start of the head, and starts then, or
// when there is room.
func TestForecastsPlayOnBehindAHead(t *testing.T) {
	for name, one := range map[string]struct{ state, want string }{
		"after it has ended": {`
policy queueing=strict-queue no-consolidation
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=1h limit=1h at=1h
now 1h
`, `c: 10h on n1[0] n2[0] after a
s: 15h on n1[0] after c`},
		// n3 is free all along, and s may not pass; u may not pass t either, which may not pass s.
		"when it starts": {`
policy queueing=strict-pool no-consolidation
nodes n1..n3 gpu=1
run a tasks=2 gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1 n2
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=7h limit=7h at=1s
submit t tasks=3 gpu=1 for=1h limit=1h at=2s
submit u gpu=1 for=1h limit=1h at=3s
now 1h
`, `c: 10h on n1[0] n2[0] after a
s: 10h on n3[0]
t: 17h on n1[0] n2[0] n3[0] after c, s
u: 18h on n1[0] after t`},
		// Nobody knows when x ends.
		"never": {`
policy queueing=strict-queue no-consolidation
nodes n1..n2 gpu=1
run x gpu=1 at=0h since=0h non-preemptible on n1
submit c tasks=2 gpu=1 for=5h limit=5h at=0h
submit s gpu=1 for=1h limit=1h at=1h
now 1h
`, `c: never, as far as is known on n1[0] n2[0] after x
s: never, as far as is known on n1[0] after c`},
		// Only what cannot be preempted, and has a lower priority, may not pass.
		"who may pass": {`
policy queueing=backfill-preemptible no-consolidation
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
run b gpu=1 for=4h limit=4h at=0h since=0h non-preemptible on n2
submit c tasks=2 gpu=1 for=5h limit=5h at=0h priority=5
submit s gpu=1 for=1h limit=1h at=1h priority=4 non-preemptible
submit u gpu=1 for=1h limit=1h at=1h priority=3
now 1h
`, `c: 10h on n1[0] n2[0] after a, u
s: 15h on n1[0] after c
u: 4h on n2[0] after b`},
		// At 5 h u stands behind c, w behind u, and at 6 h v, for which n3 is free, behind all of them; s has asked
		// before that, and keeps its time.
		"and to its time": {`
policy queueing=strict-queue no-consolidation
nodes n1..n2 gpu=1 label=a:1
nodes n3 gpu=1 label=b:1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
submit c tasks=2 gpu=1 for=5h limit=5h at=0h selector=a:1
submit u gpu=1 for=1h limit=1h at=1s not-before=5h selector=a:1
submit w tasks=2 gpu=1 for=1h limit=1h at=2s not-before=5h selector=a:1
submit s gpu=1 for=1h limit=1h at=1h selector=a:1
submit v gpu=1 for=1h limit=1h at=1h not-before=6h selector=b:1
now 1h
`, `c: 10h on n1[0] n2[0] after a
s: 15h on n1[0] after c
u: 15h on n2[0] after c
v: 16h on n3[0]
w: 16h on n1[0] n2[0] after s, u`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(one.want, forecastOf(t, one.state)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
