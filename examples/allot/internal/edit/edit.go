// Package edit makes changes of a state from what people say on a command line: "-add
// 2xh1", "-cordon n3", "-quota vision=12". A name that the state does not have is an error
// with the nearest names, and never a new noun.
package edit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/quota"
)

// An Edit is one thing that is said: what kind of edit, and its argument.
type Edit struct{ Kind, Argument string }

func (e Edit) String() string { return e.Kind + " " + e.Argument }

// A Kind is a kind of edit.
type Kind struct {
	Name, Argument, About string
	make                  func(*maker, string) error
}

// Kinds are all of them, in the order of the help.
func Kinds() []Kind {
	return []Kind{
		{"add", "COUNTxNODE", "so many nodes more, empty and like one that is there: 2xh1", (*maker).add},
		{"cordon", "NODE", "the node takes nothing new; several have commas between", (*maker).cordon},
		{"uncordon", "NODE", "the node takes new work again", (*maker).uncordon},
		{"lose", "NODE", "the node is lost, and what ran there waits again", (*maker).lose},
		{"quota", "QUEUE=AMOUNT", "the quota of a queue, of GPUs or QUEUE:RESOURCE=AMOUNT", (*maker).quota},
		{"limit", "QUEUE=AMOUNT", "the limit of a queue, as -quota", (*maker).limit},
		{"end", "JOB", "the job ends; several have commas between", (*maker).end},
		{"priority", "JOB=NUMBER", "the priority of a job", (*maker).priority},
		{"class", "JOB=NAME", "the priority class of a job", (*maker).class},
		{"to", "JOB=QUEUE", "the job is in another queue", (*maker).to},
		{"submit", "FILE", "the jobs of a file are submitted", (*maker).submit},
		{"change", "FILE", "a change as a file: nouns in full, parts of them under \"merge\", new ones under \"add\"", (*maker).change},
	}
}

// A maker puts edits into one change.
type maker struct {
	state *allot.State
	open  func(name string) (input.File, error)
	out   allot.Change
}

// Change is what the edits come to, all together. Files are read by open.
func Change(s *allot.State, edits []Edit, open func(name string) (input.File, error)) (allot.Change, error) {
	m := &maker{state: s, open: open}
	for _, e := range edits {
		for _, k := range Kinds() {
			if k.Name != e.Kind {
				continue
			}
			if err := k.make(m, e.Argument); err != nil {
				return allot.Change{}, fmt.Errorf("-%s %s: %w", e.Kind, e.Argument, err)
			}
		}
	}
	return m.out, nil
}

// put is the entry of a list that is to be otherwise: one that an edit before has put
// there, or a copy of what the state has.
func put[T any](list *[]T, has *T, same func(*T) bool) *T {
	if i := slices.IndexFunc(*list, func(e T) bool { return same(&e) }); i >= 0 {
		return &(*list)[i]
	}
	*list = append(*list, *has)
	return &(*list)[len(*list)-1]
}

func (m *maker) node(id string) (*allot.Node, error) {
	n, err := answer.FindNode(m.state, id)
	if err != nil {
		return nil, err
	}
	return put(&m.out.Nodes, n, func(e *allot.Node) bool { return e.ID == id }), nil
}

func (m *maker) nodes(text string, change func(*allot.Node)) error {
	for id := range strings.SplitSeq(text, ",") {
		n, err := m.node(id)
		if err != nil {
			return err
		}
		change(n)
	}
	return nil
}

func (m *maker) cordon(text string) error {
	return m.nodes(text, func(n *allot.Node) { n.Cordoned = true })
}
func (m *maker) uncordon(text string) error {
	return m.nodes(text, func(n *allot.Node) { n.Cordoned = false })
}
func (m *maker) lose(text string) error { return m.nodes(text, func(n *allot.Node) { n.Lost = true }) }

// mostAdded is how many nodes may be added at once.
const mostAdded = 10_000

func (m *maker) add(text string) error {
	number, like, found := strings.Cut(text, "x")
	count, err := strconv.Atoi(number)
	if !found || err != nil || count < 1 || count > mostAdded {
		return fmt.Errorf("must be COUNTxNODE, such as 2xh1, with a count of 1 to %d", mostAdded)
	}
	n, err := answer.FindNode(m.state, like)
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for i := range m.state.Nodes {
		taken[m.state.Nodes[i].ID] = true
	}
	for i := range m.out.Nodes {
		taken[m.out.Nodes[i].ID] = true
	}
	for next := 1; count > 0; next++ {
		id := "new-" + strconv.Itoa(next) + "-like-" + like
		if taken[id] {
			continue
		}
		fresh := *n
		fresh.ID, fresh.Cordoned, fresh.Lost, fresh.Foreign, fresh.ForeignTasks = id, false, false, nil, 0
		fresh.Devices = slices.Clone(n.Devices)
		for i := range fresh.Devices {
			fresh.Devices[i].Unhealthy, fresh.Devices[i].Foreign = false, 0
		}
		m.out.Nodes = append(m.out.Nodes, fresh)
		m.inPools(like, id)
		count--
	}
	return nil
}

// inPools puts a new node into the pools and queues that name the one it is like.
func (m *maker) inPools(like, id string) {
	for i := range m.state.Pools {
		if p := &m.state.Pools[i]; slices.Contains(p.Nodes.IDs, like) {
			to := put(&m.out.Pools, p, func(e *allot.Pool) bool { return e.ID == p.ID })
			to.Nodes.IDs = append(slices.Clone(to.Nodes.IDs), id)
		}
	}
	for i := range m.state.Queues {
		if q := &m.state.Queues[i]; slices.Contains(q.Nodes.IDs, like) {
			to := put(&m.out.Queues, q, func(e *allot.Queue) bool { return e.ID == q.ID })
			to.Nodes.IDs = append(slices.Clone(to.Nodes.IDs), id)
		}
	}
}

func (m *maker) quota(text string) error {
	return m.bound(text, func(r *allot.QueueResource, b quota.Bound) { r.Quota = b })
}
func (m *maker) limit(text string) error {
	return m.bound(text, func(r *allot.QueueResource, b quota.Bound) { r.Limit = b })
}

// bound changes what a queue is given: QUEUE=AMOUNT or QUEUE:RESOURCE=AMOUNT.
func (m *maker) bound(text string, set func(*allot.QueueResource, quota.Bound)) error {
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return fmt.Errorf("must be QUEUE=AMOUNT, or QUEUE:RESOURCE=AMOUNT")
	}
	name, amount, resource := text[:at], text[at+1:], allot.GPU
	q, err := answer.FindQueue(m.state, name)
	if colon := strings.LastIndexByte(name, ':'); err != nil && colon >= 0 {
		resource = name[colon+1:]
		q, err = answer.FindQueue(m.state, name[:colon])
	}
	if err != nil {
		return err
	}
	b := quota.Unlimited()
	if amount != "unlimited" {
		n, err := units.Of(resource).Parse(amount)
		if err != nil {
			return fmt.Errorf("%q %w, or unlimited", amount, err)
		}
		b = quota.Of(n)
	}
	to := put(&m.out.Queues, q, func(e *allot.Queue) bool { return e.ID == q.ID })
	to.Resources = slices.Clone(to.Resources)
	i := slices.IndexFunc(to.Resources, func(r allot.QueueResource) bool { return r.Resource == resource && r.Class == "" })
	if i < 0 {
		i = len(to.Resources)
		to.Resources = append(to.Resources, allot.QueueResource{Resource: resource})
	}
	set(&to.Resources[i], b)
	return nil
}

// job is the workload that somebody means, to be changed.
func (m *maker) job(name string) (*allot.Workload, error) {
	id, err := answer.FindWorkload(m.state, name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.state.Workloads, func(w allot.Workload) bool { return w.ID == id })
	return put(&m.out.Workloads, &m.state.Workloads[i], func(e *allot.Workload) bool { return e.ID == id }), nil
}

func (m *maker) end(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		id, err := answer.FindWorkload(m.state, name)
		if err != nil {
			return err
		}
		m.out.Remove.Workloads = append(m.out.Remove.Workloads, id)
	}
	return nil
}

// ofJob changes a job by JOB=VALUE.
func (m *maker) ofJob(text, value string, change func(w *allot.Workload, value string) error) error {
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return fmt.Errorf("must be JOB=%s", value)
	}
	w, err := m.job(text[:at])
	if err != nil {
		return err
	}
	return change(w, text[at+1:])
}

func (m *maker) priority(text string) error {
	return m.ofJob(text, "NUMBER", func(w *allot.Workload, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%q must be a whole number", value)
		}
		w.Priority = int32(n)
		return nil
	})
}

func (m *maker) class(text string) error {
	return m.ofJob(text, "NAME", func(w *allot.Workload, value string) error {
		var known []string
		for i := range m.state.Pools {
			for _, c := range m.state.Pools[i].Policy.Classes {
				known = append(known, c.Name)
			}
		}
		if !slices.Contains(known, value) {
			return words.Unknown("class", value, known)
		}
		w.Class, w.Priority = value, 0
		return nil
	})
}

func (m *maker) to(text string) error {
	return m.ofJob(text, "QUEUE", func(w *allot.Workload, value string) error {
		q, err := answer.FindQueue(m.state, value)
		if err != nil {
			return err
		}
		w.Queue = q.ID
		if w.Pool != "" {
			w.Pool = q.Pool
		}
		return nil
	})
}

func (m *maker) submit(name string) error {
	f, err := m.open(name)
	if err != nil {
		return err
	}
	jobs, err := input.Workloads(f)
	if err != nil {
		return err
	}
	known := m.names()
	for i := range jobs {
		if known["workload"][jobs[i].ID] {
			return fmt.Errorf("there is a workload %q already", jobs[i].ID)
		}
		if err := known.in("queue", jobs[i].Queue); jobs[i].Queue != "" && err != nil {
			return fmt.Errorf("job %s: %w", jobs[i].ID, err)
		}
		if jobs[i].Submitted.IsZero() {
			jobs[i].Submitted = m.state.Now
		}
	}
	m.out.Workloads = append(m.out.Workloads, jobs...)
	return nil
}

func (m *maker) change(name string) error {
	f, err := m.open(name)
	if err != nil {
		return err
	}
	c, added, err := input.Change(f, m.state)
	if err != nil {
		return err
	}
	if err := m.known(&c, &added); err != nil {
		return err
	}
	m.take(&c)
	m.take(&added)
	return nil
}

// take adds a change to what there is already.
func (m *maker) take(c *allot.Change) {
	out := &m.out
	out.Nodes, out.Pools = append(out.Nodes, c.Nodes...), append(out.Pools, c.Pools...)
	out.Queues, out.Workloads = append(out.Queues, c.Queues...), append(out.Workloads, c.Workloads...)
	out.Budgets, out.Reservations = append(out.Budgets, c.Budgets...), append(out.Reservations, c.Reservations...)
	if len(c.Levels) > 0 {
		out.Levels = c.Levels
	}
	if !c.Now.IsZero() {
		out.Now = c.Now
	}
	if c.Revision != "" {
		out.Revision = c.Revision
	}
	r, more := &out.Remove, &c.Remove
	r.Levels, r.Nodes, r.Pools = append(r.Levels, more.Levels...), append(r.Nodes, more.Nodes...), append(r.Pools, more.Pools...)
	r.Queues, r.Workloads, r.Budgets = append(r.Queues, more.Queues...), append(r.Workloads, more.Workloads...), append(r.Budgets, more.Budgets...)
	r.Reservations = append(r.Reservations, more.Reservations...)
}
