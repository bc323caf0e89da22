package scenario

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// countKnobs are the knobs whose bound is no number of seconds.
var countKnobs = []string{"max-relocations", "max-replaced-starts", "reserve.from-priority", "reserve.max-held-percent"}

// wholeUnits are the units in which seconds can be said.
var wholeUnits = []struct {
	suffix string
	scale  int64
}{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}}

// wholeSeconds reads a whole number of seconds, or of what the unit behind it says.
func wholeSeconds(text string) (int64, error) {
	for _, unit := range wholeUnits {
		if digits, ok := strings.CutSuffix(text, unit.suffix); ok {
			return decimal(digits, unit.scale)
		}
	}
	return integer[int64](text)
}

// formatSeconds writes what wholeSeconds reads, in the largest unit that divides it.
func formatSeconds(n int64) string {
	for _, unit := range slices.Backward(wholeUnits) {
		if n != 0 && n%unit.scale == 0 {
			return strconv.FormatInt(n/unit.scale, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// seconds reads a bound in seconds.
func (a arg) seconds(target *quota.Bound) error { return a.bound(target, wholeSeconds) }

// durationsPrefix and reservePrefix are before the knobs of allot.Durations and
// allot.ReservePolicy.
const (
	durationsPrefix = "durations."
	reservePrefix   = "reserve."
)

// durations reads durations.default, durations.default-limit and durations.max.
func (a arg) durations(target *allot.Durations) (known bool, err error) {
	name, ok := strings.CutPrefix(a.key, durationsPrefix)
	if !ok {
		return false, nil
	}
	v := reflect.ValueOf(target).Elem()
	for i := range v.NumField() {
		if knobName(v.Type().Field(i)) == name {
			return true, readField(v.Field(i), a)
		}
	}
	return false, nil
}

// readTimes reads what is said of a workload about time.
func (d *definition) readTimes(a arg) (known bool, err error) {
	w := &d.workload
	switch a.key {
	case "for":
		return true, a.seconds(&w.Duration)
	case "limit":
		return true, a.seconds(&w.TimeLimit)
	case "least":
		return true, set(&w.MinDuration, a, wholeSeconds)
	case "work":
		return true, set(&w.FixedWork, a, wholeSeconds)
	case "done":
		return true, set(&w.WorkDone, a, wholeSeconds)
	case "not-before":
		return true, a.at(&w.NotBefore)
	case "waiting-since":
		return true, a.at(&w.WaitingSince)
	case "held-since":
		return true, a.at(&w.HeldSince)
	case "start-by":
		return true, a.at(&w.Deadline.Start)
	case "end-by":
		return true, a.at(&w.Deadline.End)
	}
	return false, nil
}

// times writes what readTimes reads.
func (l *line) times(w *allot.Workload) {
	l.bound("for", w.Duration)
	l.bound("limit", w.TimeLimit)
	if w.MinDuration != 0 {
		l.add("least", formatSeconds(w.MinDuration))
	}
	if w.FixedWork != 0 {
		l.add("work", formatSeconds(w.FixedWork))
	}
	if w.WorkDone != 0 {
		l.add("done", formatSeconds(w.WorkDone))
	}
	l.instant("not-before", w.NotBefore)
	l.instant("waiting-since", w.WaitingSince)
	l.instant("held-since", w.HeldSince)
	l.instant("start-by", w.Deadline.Start)
	l.instant("end-by", w.Deadline.End)
}

// runPromise says what workloads have been promised; none takes it away.
func (w *world) runPromise(st statement) error {
	names, rest, err := workloadSubject(st)
	if err != nil {
		return err
	}
	words, seats, err := splitSeats(rest)
	if err != nil {
		return err
	}
	args, err := arguments(words)
	if err != nil {
		return err
	}
	var promise *allot.Promise
	if len(args) != 1 || args[0].text != none {
		promise = &allot.Promise{Tasks: promised(seats)}
		for _, a := range args {
			if err := readPromise(promise, a); err != nil {
				return err
			}
		}
	} else if len(seats) > 0 {
		return seats[0].errorf("none has no places")
	}
	for _, name := range names {
		target, err := w.existing(st.args[0], name)
		if err != nil {
			return err
		}
		target.Reserved = nil
		if promise != nil {
			own := deepCopy(*promise)
			target.Reserved = &own
		}
	}
	return nil
}

// promised are the places of seats. A task that is not named is the next of its set.
func promised(seats []seat) (places []allot.Placement) {
	var listed tasksListed
	for _, s := range seats {
		index := s.index
		if !s.indexed {
			index = listed.next(s.podSet)
		}
		listed.add(s.podSet, index)
		places = append(places, allot.Placement{PodSet: s.podSet, Index: index, Node: s.node, Devices: s.devices})
	}
	return places
}

func readPromise(p *allot.Promise, a arg) error {
	switch a.key {
	case "start":
		return a.at(&p.At)
	case "rule":
		return set(&p.Rule, a, fromText)
	case "entitled":
		return a.flag(&p.Entitled)
	case "form":
		return set(&p.Form, a, natural)
	case "waits-for":
		return set(&p.WaitsFor, a, unquoteAll)
	case "made":
		return a.at(&p.Made)
	case "first":
		return a.at(&p.First)
	}
	return a.unknown("promise")
}

// promise writes what readPromise reads.
func (l *line) promise(p *allot.Promise) {
	l.instant("start", p.At)
	if p.Rule != 0 {
		l.add("rule", p.Rule.String())
	}
	l.flag("entitled", p.Entitled)
	if p.Form != 0 {
		l.add("form", strconv.Itoa(p.Form))
	}
	if len(p.WaitsFor) > 0 {
		l.add("waits-for", quoteAll(p.WaitsFor))
	}
	l.instant("made", p.Made)
	l.instant("first", p.First)
}

// formatPromise writes what a workload was promised as runPromise reads it.
func formatPromise(o *allot.Workload) string {
	if o.Reserved == nil {
		return ""
	}
	l := newLine("promise", formatWorkload(o.Queue, o.ID))
	l.promise(o.Reserved)
	l.flag("on", len(o.Reserved.Tasks) > 0)
	l.promisedPlaces(o.Reserved.Tasks)
	return l.String()
}

// promisedPlaces writes places as promised reads them.
func (l *line) promisedPlaces(tasks []allot.Placement) {
	var listed tasksListed
	for _, t := range tasks {
		l.flag(formatOwner(t.PodSet, t.Index, listed.next(t.PodSet))+formatPlace(t.Node, t.Devices), true)
		listed.add(t.PodSet, t.Index)
	}
}

// runReserve makes or changes what people have reserved.
func (w *world) runReserve(st statement) error {
	if len(st.args) == 0 {
		return st.command.errorf("reserve needs a name")
	}
	words, seats, err := splitSeats(st.args[1:])
	if err != nil {
		return err
	}
	names, args, err := subject(statement{command: st.command, args: append(st.args[:1:1], words...)})
	if err != nil {
		return err
	}
	for _, name := range names {
		at := slices.IndexFunc(w.state.Reservations, func(r allot.Reservation) bool { return r.ID == name })
		if at < 0 {
			at = len(w.state.Reservations)
			w.state.Reservations = append(w.state.Reservations, allot.Reservation{ID: name})
		}
		r := &w.state.Reservations[at]
		for _, a := range args {
			if err := readReservation(r, a); err != nil {
				return err
			}
		}
		if len(seats) == 0 {
			continue
		}
		r.Nodes = nil
		for _, s := range seats {
			if s.named || s.indexed {
				return s.errorf("a reservation is of nodes and devices, not of tasks")
			}
			r.Nodes = append(r.Nodes, allot.ReservedNode{Node: s.node, Devices: slices.Clone(s.devices)})
		}
	}
	return nil
}

func readReservation(r *allot.Reservation, a arg) error {
	switch a.key {
	case "from":
		return a.at(&r.From)
	case "until":
		return a.at(&r.Until)
	case "queue":
		return set(&r.Queue, a, unquote)
	case "workloads":
		return set(&r.Workloads, a, namesOrNone)
	case "devices":
		return set(&r.Domains, a, parseAmounts)
	case "evict":
		return a.flag(&r.Evict)
	case "drain":
		return a.flag(&r.Drain)
	case "lend":
		return a.flag(&r.Lend)
	}
	return a.unknown("reserve")
}

// parseAmounts reads a list of DEVICES@LEVEL or DEVICES@LEVEL:DOMAIN.
func parseAmounts(text string) ([]allot.ReservedDomain, error) {
	return parseCounted(text, "DEVICES@LEVEL:DOMAIN", func(n int, what string) (d allot.ReservedDomain, err error) {
		level, domain, one := cut(what, ":")
		d.Devices = n
		if d.Level, err = unquote(level); err == nil && one {
			d.Domain, err = unquote(domain)
		}
		return d, err
	})
}

// amountsText writes a list that parseAmounts reads.
func amountsText(domains []allot.ReservedDomain) string {
	parts := make([]string, len(domains))
	for i, d := range domains {
		parts[i] = strconv.Itoa(d.Devices) + "@" + quote(d.Level)
		if d.Domain != "" {
			parts[i] += ":" + quote(d.Domain)
		}
	}
	return strings.Join(parts, ",")
}

// formatReservation writes a reservation as runReserve reads it.
func formatReservation(r *allot.Reservation) string {
	l := newLine("reserve", quote(r.ID))
	l.instant("from", r.From)
	l.instant("until", r.Until)
	if r.Queue != "" {
		l.add("queue", quoteQueue(r.Queue))
	}
	if len(r.Workloads) > 0 {
		l.add("workloads", namesText(r.Workloads))
	}
	if len(r.Domains) > 0 {
		l.add("devices", amountsText(r.Domains))
	}
	l.flag("evict", r.Evict)
	l.flag("drain", r.Drain)
	l.flag("lend", r.Lend)
	l.flag("on", len(r.Nodes) > 0)
	for _, n := range r.Nodes {
		l.flag(formatPlace(n.Node, n.Devices), true)
	}
	return l.String()
}

// namesText writes a list that namesOrNone reads.
func namesText(names []string) string {
	if len(names) == 1 {
		return quoteOrNone(names[0])
	}
	return quoteAll(names)
}

// printPromises prints what the plan promises, and what it takes back.
func (w *world) printPromises(f filter) {
	for i := range w.plan.Reservations {
		if r := &w.plan.Reservations[i]; admits(f.queues, r.Queue) {
			w.print(formatPlanned(r, queuesOf(&w.state)))
		}
	}
}

// formatPlanned writes a promise of a plan: what became of it, what it is, and why.
func formatPlanned(r *allot.PlannedReservation, queues queuesByID) string {
	l := newLine("promise", formatWorkload(r.Queue, r.Workload), r.Change.String())
	if r.Promise.At.IsZero() {
		l.add("start", unset)
	} else {
		l.instant("start", r.Promise.At)
	}
	if r.Promise.Rule != 0 {
		l.add("rule", r.Promise.Rule.String())
	}
	l.instant("not-before", r.NotBefore)
	if r.Promise.Form != 0 {
		l.add("form", strconv.Itoa(r.Promise.Form))
	}
	l.promisedPlaces(r.Promise.Tasks)
	if len(r.Promise.WaitsFor) > 0 {
		names := make([]string, len(r.Promise.WaitsFor))
		for i, id := range r.Promise.WaitsFor {
			names[i] = queues.name(id)
		}
		l.flag("after "+strings.Join(names, ","), true)
	}
	text := l.String()
	for i, resource := range slices.Sorted(maps.Keys(r.Held)) {
		text += []string{",", " held "}[max(0, 1-i)] + formatResource(resource, "") + "=" + formatAmount(resource, r.Held[resource])
	}
	if r.Cause.Code != 0 {
		text += ": " + formatReason(&r.Cause, true)
	}
	return text
}

// printNext prints when a solve could next decide otherwise with nothing changed.
func (w *world) printNext() {
	if w.plan.NextAt.IsZero() {
		w.print("next never")
		return
	}
	w.print("next " + formatInstant(w.plan.NextAt))
}
