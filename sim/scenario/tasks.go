package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A subjectName is a workload as statements name it: [QUEUE/]ID.
type subjectName struct {
	queue    string
	hasQueue bool
	id       string
}

// workloadNames reads a list of names, in which the last part may be a range.
func workloadNames(w word) ([]subjectName, error) {
	var names []subjectName
	for _, part := range split(w.text, ",") {
		path, last, hasQueue := cutLast(part, "/")
		queue := ""
		if hasQueue {
			var err error
			if queue, err = unquote(path); err != nil {
				return nil, w.errorf("%v", err)
			}
		}
		ids, err := expand(last)
		if err != nil {
			return nil, w.errorf("%v", err)
		}
		for _, id := range ids {
			names = append(names, subjectName{queue, hasQueue, id})
		}
	}
	return names, nil
}

// formatWorkload writes a workload's name as workloadNames reads it.
func formatWorkload(queue, id string) string {
	if queue == "" {
		return quote(id)
	}
	return quoteQueue(queue) + "/" + quote(id)
}

// workload is the workload of that name, nil if there is none.
func (w *world) workload(name subjectName) *allot.Workload {
	for i := range w.state.Workloads {
		if found := &w.state.Workloads[i]; found.ID == name.id {
			return found
		}
	}
	return nil
}

// existing is the workload of that name, which must be there and in that queue.
func (w *world) existing(at word, name subjectName) (*allot.Workload, error) {
	found := w.workload(name)
	if found == nil {
		return nil, at.errorf("there is no workload %q", name.id)
	}
	if name.hasQueue && found.Queue != name.queue {
		return nil, at.errorf("workload %q is in queue %q", name.id, found.Queue)
	}
	return found, nil
}

// workloadSubject is the workloads that a statement is about and the words
// behind them.
func workloadSubject(st statement) ([]subjectName, []word, error) {
	if len(st.args) == 0 {
		return nil, nil, st.command.errorf("%s needs a name", st.command.text)
	}
	names, err := workloadNames(st.args[0])
	return names, st.args[1:], err
}

// runSubmit makes workloads that wait.
func (w *world) runSubmit(st statement) error {
	names, rest, err := workloadSubject(st)
	if err != nil {
		return err
	}
	args, err := arguments(rest)
	if err != nil {
		return err
	}
	return w.define(st, names, args, nil)
}

// define makes workloads of one definition, each a second after the one
// before. What is no argument of a definition goes to other, if there is one.
func (w *world) define(st statement, names []subjectName, args []arg, other func(arg) (bool, error)) error {
	d := newDefinition(nil)
	if err := d.readAll(st, args, other); err != nil {
		return err
	}
	d.ensurePodSets()
	for _, name := range names {
		if w.workload(name) != nil {
			return st.args[0].errorf("there is a workload %q already", name.id)
		}
		one := deepCopy(d.workload)
		one.ID, one.Queue = name.id, name.queue
		if !d.submitAt {
			one.Submitted = w.tick()
		} else if one.Submitted.After(w.clock) {
			w.setClock(one.Submitted)
		}
		if err := w.readClasses(&one, d.classes); err != nil {
			return err
		}
		w.state.Workloads = append(w.state.Workloads, one)
	}
	return nil
}

// readAll reads every argument of a definition.
func (d *definition) readAll(st statement, args []arg, other func(arg) (bool, error)) error {
	for _, a := range args {
		known, err := d.read(a)
		if !known && err == nil && other != nil {
			known, err = other(a)
		}
		switch {
		case err != nil:
			return err
		case !known && !a.given:
			d.classes = append(d.classes, a)
		case !known:
			return a.unknown(st.command.text)
		}
	}
	return nil
}

// ensurePodSets gives the workload, and each alternative, a pod set where no
// argument has made one.
func (d *definition) ensurePodSets() {
	if len(d.workload.PodSets) == 0 {
		d.workload.PodSets = []allot.PodSet{{Count: 1}}
	}
	for i := range d.workload.Alternatives {
		if form := &d.workload.Alternatives[i]; len(form.PodSets) == 0 {
			form.PodSets = []allot.PodSet{{Count: 1}}
		}
	}
}

// readClasses takes the words that stand alone as the workload's class.
func (w *world) readClasses(target *allot.Workload, words []arg) error {
	for _, a := range words {
		name, err := unquote(a.text)
		if err != nil {
			return a.errorf("%v", err)
		}
		policy := w.policyOf(target)
		at := slices.IndexFunc(policy.Classes, func(c allot.Class) bool {
			return strings.EqualFold(c.Name, name)
		})
		if at < 0 {
			return a.errorf("%q is neither an argument nor a class of the policy", a.text)
		}
		target.Class = policy.Classes[at].Name
	}
	return nil
}

// policyOf is the policy that a workload is under, the zero Policy if that
// cannot be said.
func (w *world) policyOf(target *allot.Workload) allot.Policy {
	name := target.Pool
	if q := w.queue(target.Queue); q != nil && q.Pool != "" {
		name = q.Pool
	}
	if name == "" && len(w.state.Pools) == 1 {
		return w.state.Pools[0].Policy
	}
	if p := w.pool(name); p != nil {
		return p.Policy
	}
	return allot.Policy{}
}

// runChange changes what is said of workloads that exist.
func (w *world) runChange(st statement) error {
	names, rest, err := workloadSubject(st)
	if err != nil {
		return err
	}
	args, err := arguments(rest)
	if err != nil {
		return err
	}
	for _, name := range names {
		target, err := w.existing(st.args[0], name)
		if err != nil {
			return err
		}
		d := newDefinition(target)
		if err := d.readAll(st, args, nil); err != nil {
			return err
		}
		if err := w.readClasses(&d.workload, d.classes); err != nil {
			return err
		}
		*target = d.workload
	}
	return nil
}

// A holdOrder is what run, claim and terminate say besides a definition.
type holdOrder struct {
	phase   allot.Phase
	since   *time.Time
	started time.Time // as is said of the tasks (B1), and when they are ended
	until   time.Time
	form    int
	only    int // how many tasks; all if negative
	seats   []seat
}

func (o *holdOrder) read(a arg) (bool, error) {
	switch a.key {
	case "since":
		o.since = new(time.Time)
		return true, a.at(o.since)
	case "started":
		return true, a.at(&o.started)
	case "until":
		return true, a.at(&o.until)
	case "form":
		return true, set(&o.form, a, natural)
	case "only":
		return true, set(&o.only, a, natural)
	}
	return false, nil
}

// splitSeats parts the words at 'on'.
func splitSeats(words []word) ([]word, []seat, error) {
	at := slices.IndexFunc(words, func(w word) bool { return w.text == "on" })
	if at < 0 {
		return words, nil, nil
	}
	if at == len(words)-1 {
		return nil, nil, words[at].errorf("on needs a place")
	}
	var seats []seat
	for _, w := range words[at+1:] {
		s, err := parseSeat(w)
		if err != nil {
			return nil, nil, err
		}
		seats = append(seats, s)
	}
	return words[:at], seats, nil
}

// runHold gives tasks places: run and claim, and terminate where it says on.
func (w *world) runHold(st statement) error {
	names, rest, err := workloadSubject(st)
	if err != nil {
		return err
	}
	words, seats, err := splitSeats(rest)
	if err != nil {
		return err
	}
	if len(seats) > 0 && len(names) > 1 {
		return seats[0].errorf("places are for one workload")
	}
	args, err := arguments(words)
	if err != nil {
		return err
	}
	order := holdOrder{only: -1, seats: seats}
	switch st.command.text {
	case "claim":
		order.phase = allot.Claimed
	case "terminate":
		order.phase = allot.Terminating
	}
	for _, name := range names {
		target, since, err := w.holder(st, name, args, &order)
		if err != nil {
			return err
		}
		if err := w.hold(st, target, since, order); err != nil {
			return err
		}
	}
	return nil
}

// holder is the workload that is to hold something, the one there is or a new
// one by the arguments, and since when if nothing says so.
func (w *world) holder(st statement, name subjectName, args []arg, order *holdOrder) (*allot.Workload, time.Time, error) {
	if w.workload(name) == nil {
		if err := w.define(st, []subjectName{name}, args, order.read); err != nil {
			return nil, time.Time{}, err
		}
		made := w.workload(name)
		return made, made.Submitted, nil
	}
	target, err := w.existing(st.args[0], name)
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, a := range args {
		known, err := order.read(a)
		if err != nil {
			return nil, time.Time{}, err
		}
		if !known {
			return nil, time.Time{}, a.errorf("%s of a workload that exists takes no argument %q", st.command.text, a.key)
		}
	}
	return target, w.tick(), nil
}

// runTerminate makes running tasks leave, and with 'on' adds leaving ones.
func (w *world) runTerminate(st statement) error {
	names, rest, err := workloadSubject(st)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rest, func(a word) bool { return a.text == "on" }) {
		return w.runHold(st)
	}
	args, err := arguments(rest)
	if err != nil {
		return err
	}
	for _, a := range args {
		if a.text != "ending" {
			return a.unknown("terminate without 'on'")
		}
	}
	for _, name := range names {
		target, err := w.existing(st.args[0], name)
		if err != nil {
			return err
		}
		target.Ending = target.Ending || len(rest) > 0
		target.Tasks = slices.DeleteFunc(target.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
		for i := range target.Tasks {
			if target.Tasks[i].Phase == allot.Running { // so that nothing of another form was leaving
				target.LeavingForm = quota.Bound{}
			}
			target.Tasks[i].Phase = allot.Terminating
		}
	}
	return nil
}

// runLeft takes away what was leaving: of the workloads named, else of all.
func (w *world) runLeft(st statement) error {
	named := map[string]bool{}
	for _, at := range st.args {
		names, err := workloadNames(at)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, err := w.existing(at, name); err != nil {
				return err
			}
			named[name.id] = true
		}
	}
	w.state.Workloads = slices.DeleteFunc(w.state.Workloads, func(o allot.Workload) bool {
		return o.Ending && (len(named) == 0 || named[o.ID])
	})
	for i := range w.state.Workloads {
		if o := &w.state.Workloads[i]; len(named) == 0 || named[o.ID] {
			o.Tasks = slices.DeleteFunc(o.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating })
		}
	}
	return nil
}

// runFinish takes workloads out of the state: they have ended.
func (w *world) runFinish(st statement) error {
	if len(st.args) == 0 {
		return st.command.errorf("finish needs a name")
	}
	for _, at := range st.args {
		names, err := workloadNames(at)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, err := w.existing(at, name); err != nil {
				return err
			}
			w.state.Workloads = slices.DeleteFunc(w.state.Workloads, func(o allot.Workload) bool { return o.ID == name.id })
		}
	}
	return nil
}
