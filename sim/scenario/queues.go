package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
)

// runPool makes or changes a pool.
func (w *world) runPool(st statement) error {
	names, args, err := subject(st)
	if err != nil {
		return err
	}
	for _, name := range names {
		p := w.pool(name)
		if p == nil {
			w.state.Pools = append(w.state.Pools, allot.Pool{ID: name})
			p = &w.state.Pools[len(w.state.Pools)-1]
		}
		for _, a := range args {
			if err := readPool(p, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPool reads what is said of a pool.
func readPool(p *allot.Pool, a arg) error {
	switch a.key {
	case "max-tasks":
		return set(&p.MaxTasks, a, integer[int])
	case "max-tasks-per-workload":
		return set(&p.MaxTasksPerWorkload, a, integer[int])
	}
	known, err := readNodeSet(&p.Nodes, a)
	if err == nil && !known {
		err = a.unknown("pool")
	}
	return err
}

// pool is the pool of that name, nil if there is none.
func (w *world) pool(name string) *allot.Pool {
	at := slices.IndexFunc(w.state.Pools, func(p allot.Pool) bool { return p.ID == name })
	if at < 0 {
		return nil
	}
	return &w.state.Pools[at]
}

// readNodeSet reads nodes=LIST, where=KEY:VALUE, where.expr=EXPRESSION and a
// lone where, which is the selector that every node matches.
func readNodeSet(target *allot.NodeSet, a arg) (known bool, err error) {
	if a.key == "nodes" {
		return true, set(&target.IDs, a, expand)
	}
	if a.key != "where" && a.key != "where.expr" {
		return false, nil
	}
	var selector placement.Selector
	if target.Selector != nil {
		selector = *target.Selector
	}
	switch {
	case a.key == "where.expr":
		err = readExpression(&selector, a)
	case a.given:
		err = readLabel(&selector, a)
	}
	target.Selector = &selector
	return true, err
}

// readLabel reads KEY:VALUE, a label that must be there.
func readLabel(s *placement.Selector, a arg) error {
	label, err := read(a, parsePair)
	s.Labels = withLabel(s.Labels, label)
	return err
}

// readExpression reads KEY:OPERATOR[:VALUE,…].
func readExpression(s *placement.Selector, a arg) error {
	expression, err := read(a, parseExpression)
	s.Expressions = append(slices.Clip(s.Expressions), expression)
	return err
}

func parseExpression(text string) (placement.Expression, error) {
	var e placement.Expression
	key, rest, _ := cut(text, ":")
	operator, values, hasValues := cut(rest, ":")
	var err error
	if e.Key, err = unquote(key); err != nil {
		return e, err
	}
	if err = e.Operator.UnmarshalText([]byte(operator)); err != nil {
		return e, err
	}
	if hasValues {
		e.Values, err = unquoteAll(values)
	}
	return e, err
}

// runQueue makes or changes a queue.
func (w *world) runQueue(st statement) error {
	names, args, err := subject(st)
	if err != nil {
		return err
	}
	for _, name := range names {
		q := w.queue(name)
		if q == nil {
			parent, _, _ := cutParent(name)
			w.state.Queues = append(w.state.Queues, allot.Queue{ID: name, Parent: parent})
			q = &w.state.Queues[len(w.state.Queues)-1]
		}
		for _, a := range args {
			if err := readQueue(q, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutParent parts the name of a queue at its last slash.
func cutParent(name string) (parent, last string, ok bool) {
	at := strings.LastIndex(name, "/")
	if at < 0 {
		return "", name, false
	}
	return name[:at], name[at+1:], true
}

// queue is the queue of that name, nil if there is none.
func (w *world) queue(name string) *allot.Queue {
	at := slices.IndexFunc(w.state.Queues, func(q allot.Queue) bool { return q.ID == name })
	if at < 0 {
		return nil
	}
	return &w.state.Queues[at]
}

func readQueue(q *allot.Queue, a arg) error {
	switch a.key {
	case "pool":
		return set(&q.Pool, a, unquote)
	case "parent":
		return set(&q.Parent, a, unquote)
	case "created":
		return a.at(&q.Created)
	case "max-workloads":
		return a.bound(&q.MaxWorkloads, integer[int64])
	case "queueing":
		return readField(reflect.ValueOf(&q.Queueing).Elem(), a)
	}
	if known, err := readNodeSet(&q.Nodes, a); known || err != nil {
		return err
	}
	if known, err := a.minRuntime(&q.MinRuntime); known || err != nil {
		return err
	}
	if known, err := a.durations(&q.Durations); known || err != nil {
		return err
	}
	return readQueueResource(q, a)
}

// readQueueResource reads [RESOURCE[@CLASS].]SETTING; without a resource it
// is the GPU. What is mentioned is listed from then on.
func readQueueResource(q *allot.Queue, a arg) error {
	name, setting, named := cutLast(a.key, ".")
	resource, class := allot.GPU, ""
	if named {
		first, second, hasClass := cut(name, "@")
		var err error
		if resource, err = unquote(first); err != nil {
			return a.errorf("%v", err)
		}
		if class, err = unquote(second); hasClass && err != nil {
			return a.errorf("%v", err)
		}
	}
	if !slices.Contains(queueSettings, setting) {
		return a.unknown("queue")
	}
	r := queueResource(q, resource, class)
	amounts := func(text string) (int64, error) { return amount(resource, text) }
	switch setting {
	case "quota":
		return a.bound(&r.Quota, amounts)
	case "limit":
		return a.bound(&r.Limit, amounts)
	case "borrow":
		return a.bound(&r.BorrowingLimit, amounts)
	case "lend":
		return a.bound(&r.LendingLimit, amounts)
	case "weight":
		return a.bound(&r.Weight, integer[int64])
	case "usage":
		return set(&r.Usage, a, parseUsage)
	default:
		return set(&r.OverQuotaPriority, a, integer[int32])
	}
}

// parseUsage reads USED/CAPACITY.
func parseUsage(text string) (fairshare.Usage, error) {
	used, capacity, ok := strings.Cut(text, "/")
	if !ok {
		return fairshare.Usage{}, fmt.Errorf("%q is not USED/CAPACITY", text)
	}
	var u fairshare.Usage
	var err error
	if u.Used, err = integer[int64](used); err == nil {
		u.Capacity, err = integer[int64](capacity)
	}
	return u, err
}

// queueSettings are what can be said of a resource of a queue.
var queueSettings = []string{"quota", "limit", "borrow", "lend", "weight", "tier", "usage"}

// queueResource is the entry of the queue, made where it is missing.
func queueResource(q *allot.Queue, resource, class string) *allot.QueueResource {
	for i := range q.Resources {
		if r := &q.Resources[i]; r.Resource == resource && r.Class == class {
			return r
		}
	}
	q.Resources = append(q.Resources, allot.QueueResource{Resource: resource, Class: class})
	return &q.Resources[len(q.Resources)-1]
}

// formatQueue writes a queue as runQueue reads it.
func formatQueue(q *allot.Queue) string {
	l := newLine("queue", quoteQueue(q.ID))
	if parent, _, _ := cutParent(q.ID); parent != q.Parent {
		l.add("parent", quote(q.Parent))
	}
	if q.Pool != "" {
		l.add("pool", quote(q.Pool))
	}
	if !q.Created.IsZero() {
		l.add("created", formatInstant(q.Created))
	}
	l.nodeSet(q.Nodes)
	if q.MaxWorkloads.Given() {
		l.add("max-workloads", formatBound(q.MaxWorkloads, formatInteger))
	}
	l.minRuntime(q.MinRuntime)
	if q.Queueing != 0 {
		l.add("queueing", q.Queueing.String())
	}
	l.knobs(durationsPrefix, reflect.ValueOf(&q.Durations).Elem())
	for i := range q.Resources {
		l.queueResource(&q.Resources[i])
	}
	return l.String()
}

func formatInteger(n int64) string { return strconv.FormatInt(n, 10) }

func (l *line) queueResource(r *allot.QueueResource) {
	prefix := quote(r.Resource)
	if r.Class != "" {
		prefix += "@" + quote(r.Class)
	}
	prefix += "."
	if prefix == allot.GPU+"." {
		prefix = ""
	}
	amounts := func(n int64) string { return formatAmount(r.Resource, n) }
	said := len(l.words)
	if r.Quota.Given() {
		l.add(prefix+"quota", formatBound(r.Quota, amounts))
	}
	if r.Limit.Given() {
		l.add(prefix+"limit", formatBound(r.Limit, amounts))
	}
	if r.BorrowingLimit.Given() {
		l.add(prefix+"borrow", formatBound(r.BorrowingLimit, amounts))
	}
	if r.LendingLimit.Given() {
		l.add(prefix+"lend", formatBound(r.LendingLimit, amounts))
	}
	if r.Weight.Given() {
		l.add(prefix+"weight", formatBound(r.Weight, formatInteger))
	}
	if r.OverQuotaPriority != 0 {
		l.add(prefix+"tier", strconv.Itoa(int(r.OverQuotaPriority)))
	}
	if r.Usage != (fairshare.Usage{}) {
		l.add(prefix+"usage", formatInteger(r.Usage.Used)+"/"+formatInteger(r.Usage.Capacity))
	}
	if len(l.words) == said { // the bare entry
		l.add(prefix+"quota", none)
	}
}
