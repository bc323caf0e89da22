// Package edits reads changes of a state as people say them, a line each:
//
//	add 2 node-7            two more nodes like node-7
//	cordon n3               also uncordon, lose, restore
//	remove n3               a node that goes
//	quota vision=12         GPUs, or quota vision=64 cores of cpu
//	limit vision=20         also weight
//	end job-7               a workload that has ended
//	priority job-7=60
//	queue job-7=vision      into another queue
//	submit 2 vision 4       two workloads of queue vision that ask 4 GPUs each
//
// An ID that the state does not have is an error with the nearest ones, never a new
// noun. What is edited keeps all that is not spoken of.
package edits

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/quota"
)

// The bounds of what edits may say: of their text, their lines, and of how much is added.
const (
	MaxText = 16 << 10
	maxLine = 100
	maxMore = 256
)

// An edit is what a line does to the change; words are those after its name.
type edit func(b *builder, words []string) error

// A builder is a change so far, with the state that it changes.
type builder struct {
	state  *allot.State
	change allot.Change
	made   int
}

var edits = map[string]edit{
	"add":      (*builder).add,
	"cordon":   node(func(n *allot.Node) { n.Cordoned = true }),
	"uncordon": node(func(n *allot.Node) { n.Cordoned = false }),
	"lose":     node(func(n *allot.Node) { n.Lost = true }),
	"restore":  node(func(n *allot.Node) { n.Lost = false }),
	"remove":   (*builder).remove,
	"quota":    amount(func(r *allot.QueueResource, b quota.Bound) { r.Quota = b }),
	"limit":    amount(func(r *allot.QueueResource, b quota.Bound) { r.Limit = b }),
	"weight":   amount(func(r *allot.QueueResource, b quota.Bound) { r.Weight = b }),
	"end":      (*builder).end,
	"priority": (*builder).priority,
	"queue":    (*builder).queue,
	"submit":   (*builder).submit,
}

// Names are the words with which a line may begin, in the order of their alphabet.
func Names() []string {
	var names []string
	for name := range edits {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Parse reads edits of a state, at least one. Blank lines and what follows a # say
// nothing. The error says which line is wrong.
func Parse(state *allot.State, text string) (allot.Change, error) {
	if len(text) > MaxText {
		return allot.Change{}, fmt.Errorf("changes may have %d bytes, these have more", MaxText)
	}
	b := &builder{state: state}
	said := 0
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if said++; said > maxLine {
			return allot.Change{}, fmt.Errorf("there may be %d changes at once, there are more", maxLine)
		}
		do, ok := edits[strings.TrimLeft(words[0], "-")]
		if !ok {
			return allot.Change{}, fmt.Errorf("line %d: there is no change %q; there is %s", i+1, words[0], strings.Join(Names(), ", "))
		}
		if err := do(b, words[1:]); err != nil {
			return allot.Change{}, fmt.Errorf("line %d: %s: %w", i+1, words[0], err)
		}
	}
	if said == 0 {
		return allot.Change{}, errors.New("there is no change")
	}
	return b.change, nil
}

// unknown is the error of an ID that is not there.
func unknown(what, id string, ids []string) error {
	return fmt.Errorf("there is no %s %q%s", what, id, words.Nearest(id, ids))
}

// only is the one word of a line.
func only(words []string, what string) (string, error) {
	if len(words) != 1 {
		return "", fmt.Errorf("takes %s", what)
	}
	return words[0], nil
}

// node finds a node as it is after the lines before.
func (b *builder) node(id string) (*allot.Node, error) {
	for i := range b.change.Nodes {
		if b.change.Nodes[i].ID == id {
			return &b.change.Nodes[i], nil
		}
	}
	var ids []string
	for i := range b.state.Nodes {
		n := b.state.Nodes[i]
		if n.ID == id && !slices.Contains(b.change.Remove.Nodes, id) {
			b.change.Nodes = append(b.change.Nodes, n)
			return &b.change.Nodes[len(b.change.Nodes)-1], nil
		}
		ids = append(ids, n.ID)
	}
	return nil, unknown("node", id, ids)
}

func node(do func(*allot.Node)) edit {
	return func(b *builder, words []string) error {
		if len(words) == 0 {
			return errors.New("takes the IDs of nodes")
		}
		for _, id := range words {
			n, err := b.node(id)
			if err != nil {
				return err
			}
			do(n)
		}
		return nil
	}
}

func (b *builder) add(words []string) error {
	count := 1
	if len(words) == 2 {
		n, err := number(words[0])
		if err != nil {
			return err
		}
		count, words = n, words[1:]
	}
	id, err := only(words, "how many nodes, and like which one: add 2 n7")
	if err != nil {
		return err
	}
	if err := b.more(count); err != nil {
		return err
	}
	var like *allot.Node
	var ids []string
	for i := range b.state.Nodes {
		ids = append(ids, b.state.Nodes[i].ID)
		if b.state.Nodes[i].ID == id {
			like = &b.state.Nodes[i]
		}
	}
	if like == nil {
		return unknown("node", id, ids)
	}
	for range count {
		n := *like
		n.Devices = slices.Clone(like.Devices)
		for i := range n.Devices {
			n.Devices[i].Unhealthy, n.Devices[i].Foreign = false, 0
		}
		n.Foreign, n.ForeignTasks, n.Cordoned, n.Lost = nil, 0, false, false
		for k := 1; ; k++ {
			if n.ID = id + "-new-" + strconv.Itoa(k); !slices.Contains(ids, n.ID) && !slices.ContainsFunc(b.change.Nodes, func(o allot.Node) bool { return o.ID == n.ID }) {
				break
			}
		}
		b.change.Nodes = append(b.change.Nodes, n)
	}
	return nil
}

// more counts what is added.
func (b *builder) more(count int) error {
	if b.made += count; b.made > maxMore {
		return fmt.Errorf("at most %d things may be added at once", maxMore)
	}
	return nil
}

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxMore {
		return 0, fmt.Errorf("%q is no number from 1 to %d", text, maxMore)
	}
	return n, nil
}

func (b *builder) remove(words []string) error {
	id, err := only(words, "the ID of a node")
	if err != nil {
		return err
	}
	if _, err := b.node(id); err != nil {
		return err
	}
	b.change.Nodes = slices.DeleteFunc(b.change.Nodes, func(n allot.Node) bool { return n.ID == id })
	if slices.ContainsFunc(b.state.Nodes, func(n allot.Node) bool { return n.ID == id }) {
		b.change.Remove.Nodes = append(b.change.Remove.Nodes, id)
	}
	return nil
}

// assigned parts "vision=12 GPUs" at the sign; the ID may hold the sign itself.
func assigned(words []string, what string) (id, value string, err error) {
	text := strings.Join(words, " ")
	at := strings.LastIndex(text, "=")
	if at <= 0 || at == len(text)-1 {
		return "", "", fmt.Errorf("takes %s", what)
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+1:]), nil
}

func amount(set func(*allot.QueueResource, quota.Bound)) edit {
	return func(b *builder, words []string) error {
		id, value, err := assigned(words, "a queue and an amount: vision=12, or vision=64 cores of cpu")
		if err != nil {
			return err
		}
		resource := allot.GPU
		if before, after, ok := strings.Cut(value, " of "); ok {
			value, resource = before, strings.TrimSpace(after)
		}
		bound := quota.Unlimited()
		if value != "unlimited" {
			n, err := units.Of(resource).Parse(value)
			if err != nil {
				return fmt.Errorf("%q: %w", value, err)
			}
			bound = quota.Of(n)
		}
		q, err := b.queueOf(id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(q.Resources, func(r allot.QueueResource) bool { return r.Resource == resource && r.Class == "" })
		if at < 0 {
			q.Resources = append(q.Resources, allot.QueueResource{Resource: resource})
			at = len(q.Resources) - 1
		}
		set(&q.Resources[at], bound)
		return nil
	}
}

// queueOf finds a queue as it is after the lines before.
func (b *builder) queueOf(id string) (*allot.Queue, error) {
	for i := range b.change.Queues {
		if b.change.Queues[i].ID == id {
			return &b.change.Queues[i], nil
		}
	}
	var ids []string
	for i := range b.state.Queues {
		q := b.state.Queues[i]
		if q.ID == id {
			q.Resources = slices.Clone(q.Resources)
			b.change.Queues = append(b.change.Queues, q)
			return &b.change.Queues[len(b.change.Queues)-1], nil
		}
		ids = append(ids, q.ID)
	}
	return nil, unknown("queue", id, ids)
}

// work finds a workload as it is after the lines before. It may be named with its queue
// before it.
func (b *builder) work(id string) (*allot.Workload, error) {
	is := func(w *allot.Workload) bool { return w.ID == id || words.WorkName(w.Queue, w.ID) == id }
	for i := range b.change.Workloads {
		if is(&b.change.Workloads[i]) {
			return &b.change.Workloads[i], nil
		}
	}
	var ids []string
	for i := range b.state.Workloads {
		w := b.state.Workloads[i]
		if is(&w) && !slices.Contains(b.change.Remove.Workloads, w.ID) {
			b.change.Workloads = append(b.change.Workloads, w)
			return &b.change.Workloads[len(b.change.Workloads)-1], nil
		}
		ids = append(ids, words.WorkName(w.Queue, w.ID))
	}
	return nil, unknown("workload", id, ids)
}

func (b *builder) end(words []string) error {
	if len(words) == 0 {
		return errors.New("takes the IDs of workloads")
	}
	for _, id := range words {
		w, err := b.work(id)
		if err != nil {
			return err
		}
		gone := w.ID
		b.change.Workloads = slices.DeleteFunc(b.change.Workloads, func(w allot.Workload) bool { return w.ID == gone })
		if slices.ContainsFunc(b.state.Workloads, func(w allot.Workload) bool { return w.ID == gone }) {
			b.change.Remove.Workloads = append(b.change.Remove.Workloads, gone)
		}
	}
	return nil
}

func (b *builder) priority(words []string) error {
	id, value, err := assigned(words, "a workload and a priority: job-7=60")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%q is no priority", value)
	}
	w, err := b.work(id)
	if err != nil {
		return err
	}
	w.Priority = int32(n)
	return nil
}

func (b *builder) queue(words []string) error {
	id, queue, err := assigned(words, "a workload and a queue: job-7=vision")
	if err != nil {
		return err
	}
	w, err := b.work(id)
	if err != nil {
		return err
	}
	if err := b.hasQueue(queue); err != nil {
		return err
	}
	w.Queue = queue
	return nil
}

func (b *builder) hasQueue(id string) error {
	var ids []string
	for i := range b.state.Queues {
		ids = append(ids, b.state.Queues[i].ID)
	}
	if !slices.Contains(ids, id) && (id != "" || len(ids) > 0) {
		return unknown("queue", id, ids)
	}
	return nil
}

func (b *builder) submit(words []string) error {
	count := 1
	if len(words) == 3 {
		n, err := number(words[0])
		if err != nil {
			return err
		}
		count, words = n, words[1:]
	}
	if len(words) != 2 {
		return errors.New("takes how many, of which queue, and how many GPUs each asks: submit 2 vision 4")
	}
	if err := b.hasQueue(words[0]); err != nil {
		return err
	}
	gpus, err := units.Of(allot.GPU).Parse(words[1])
	if err != nil {
		return fmt.Errorf("%q: %w", words[1], err)
	}
	if gpus < 0 || gpus > 1000*maxMore {
		return fmt.Errorf("%q is not from 0 to %d GPUs", words[1], maxMore)
	}
	if err := b.more(count); err != nil {
		return err
	}
	ask := allot.GPURequest{Count: int(gpus / 1000)}
	if gpus%1000 != 0 {
		if gpus > 1000 {
			return fmt.Errorf("%q: more than one GPU is asked in whole ones", words[1])
		}
		ask = allot.GPURequest{Milli: gpus}
	}
	taken := make(map[string]bool, len(b.state.Workloads))
	for i := range b.state.Workloads {
		taken[b.state.Workloads[i].ID] = true
	}
	for i := range b.change.Workloads {
		taken[b.change.Workloads[i].ID] = true
	}
	for k := 0; count > 0; k++ {
		if id := "new-" + strconv.Itoa(k+1); !taken[id] {
			taken[id] = true
			count--
			b.change.Workloads = append(b.change.Workloads, allot.Workload{
				ID: id, Queue: words[0], Submitted: b.state.Now, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: ask}}},
			})
		}
	}
	return nil
}
