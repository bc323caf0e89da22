package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
)

// A world is the state that statements make and change, and what was decided
// on it last.
type world struct {
	state allot.State
	// clock is the submit time given last; every workload named without one
	// moves it a second on, so that the order of statements is age.
	clock   time.Time
	frozen  bool // 'now' has been said: Now no longer follows the clock
	plan    *allot.Plan
	out     strings.Builder
	options Options
}

func newWorld(o Options) *world {
	return &world{state: allot.State{Now: epoch}, clock: epoch, options: o}
}

// command is what carries out the statement of that name, nil if there is none.
func command(name string) func(*world, statement) error {
	switch name {
	case "policy":
		return (*world).runPolicy
	case "mix":
		return (*world).runMix
	case "pool":
		return (*world).runPool
	case "levels":
		return (*world).runLevels
	case "nodes":
		return (*world).runNodes
	case "queue":
		return (*world).runQueue
	case "budget":
		return (*world).runBudget
	case "reserve":
		return (*world).runReserve
	case "promise":
		return (*world).runPromise
	case "now":
		return (*world).runNow
	case "reset":
		return (*world).runReset
	case "revision":
		return (*world).runRevision
	case "submit":
		return (*world).runSubmit
	case "change":
		return (*world).runChange
	case "run", "claim":
		return (*world).runHold
	case "terminate":
		return (*world).runTerminate
	case "left":
		return (*world).runLeft
	case "finish":
		return (*world).runFinish
	case "remove":
		return (*world).runRemove
	case "lose", "restore", "cordon", "uncordon":
		return (*world).runHealth
	case "solve":
		return (*world).runSolve
	case "waits", "reasons", "shares", "promises", "next":
		return (*world).runReport
	case "apply", "begin":
		return (*world).runApply
	case "check":
		return (*world).runCheck
	case "state":
		return (*world).runState
	}
	return nil
}

// tick moves the clock and returns it.
func (w *world) tick() time.Time {
	w.setClock(w.clock.Add(time.Second))
	return w.clock
}

func (w *world) setClock(t time.Time) {
	w.clock = t
	if !w.frozen {
		w.state.Now = t
	}
}

// runNow sets Now, and the clock with it; from then on Now stands still.
func (w *world) runNow(st statement) error {
	if len(st.args) != 1 {
		return st.command.errorf("now needs one time")
	}
	t, err := instant(st.args[0].text)
	if err != nil {
		return st.args[0].errorf("%v", err)
	}
	w.state.Now, w.frozen = t, true
	if t.After(w.clock) {
		w.clock = t
	}
	return nil
}

// runReset begins again with the empty state; what was printed stays.
func (w *world) runReset(st statement) error {
	if len(st.args) > 0 {
		return newArg(st.args[0]).unknown("reset")
	}
	fresh := newWorld(w.options)
	w.state, w.clock, w.frozen, w.plan = fresh.state, fresh.clock, false, nil
	return nil
}

func (w *world) runRevision(st statement) error {
	if len(st.args) != 1 {
		return st.command.errorf("revision needs one text")
	}
	text, err := unquote(st.args[0].text)
	if err != nil {
		return st.args[0].errorf("%v", err)
	}
	w.state.Revision = text
	return nil
}

// subject is the list of names that a statement is about and the arguments
// behind it.
func subject(st statement) ([]string, []arg, error) {
	if len(st.args) == 0 {
		return nil, nil, st.command.errorf("%s needs a name", st.command.text)
	}
	names, err := expand(st.args[0].text)
	if err != nil {
		return nil, nil, st.args[0].errorf("%v", err)
	}
	args, err := arguments(st.args[1:])
	return names, args, err
}

// repeatable are the keys that may be given several times to one subject.
var repeatable = []string{"label", "taint", "where", "where.expr", "selector", "expr", "toleration", "class", "group", "set", "or", "exit"}

// arguments reads the words, and refuses a key that is given twice. A pod set
// and a form begin afresh, and so does a group with its constraint.
func arguments(words []word) ([]arg, error) {
	var args []arg
	fresh, named := 0, 0 // the first argument of the current pod set, and of what was named last
	for _, w := range words {
		a := newArg(w)
		if a.key == "set" || a.key == "or" {
			fresh, named = len(args), len(args)
		}
		from := fresh
		switch a.key {
		case "group":
			named = len(args)
		case "require", "prefer", "mode":
			from = named
		}
		twice := func(b arg) bool { return b.key == a.key }
		if slices.ContainsFunc(args[from:], twice) && !slices.Contains(repeatable, a.key) {
			return nil, a.errorf("%s is given twice", a.key)
		}
		args = append(args, a)
	}
	return args, nil
}

// runRemove takes queues, nodes, pools, budgets or reservations out of the state.
func (w *world) runRemove(st statement) error {
	if len(st.args) != 2 {
		return st.command.errorf("remove needs nodes, queue, pool, budget or reservation, and a name")
	}
	names, err := expand(st.args[1].text)
	if err != nil {
		return st.args[1].errorf("%v", err)
	}
	for _, name := range names {
		found := false
		switch st.args[0].text {
		case "nodes":
			w.state.Nodes, found = without(w.state.Nodes, func(n allot.Node) bool { return n.ID == name })
		case "queue":
			w.state.Queues, found = without(w.state.Queues, func(q allot.Queue) bool { return q.ID == name })
		case "budget":
			w.state.Budgets, found = without(w.state.Budgets, func(b allot.DisruptionBudget) bool { return b.Owner == name })
		case "reservation":
			w.state.Reservations, found = without(w.state.Reservations, func(r allot.Reservation) bool { return r.ID == name })
		case "pool":
			w.state.Pools, found = without(w.state.Pools, func(p allot.Pool) bool { return p.ID == name })
		default:
			return st.args[0].errorf("remove takes nodes, queue, pool, budget or reservation")
		}
		if !found {
			return st.args[1].errorf("there is no %q", name)
		}
	}
	return nil
}

// without is the list without what drop picks, and whether there was any.
func without[T any](list []T, drop func(T) bool) ([]T, bool) {
	before := len(list)
	list = slices.DeleteFunc(list, drop)
	return list, len(list) < before
}
