package allot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/table"
)

// What a node's tasks hold is kept with the version: a change of some tasks takes away what
// they held and adds what they hold, so that no other task that stands there is looked at.

// A book is a listed node in the ledger of a change.
type book struct {
	// resident is the node's in the version that the change comes to, nil if nothing stands
	// there; fresh: no version shares it yet.
	resident *resident
	fresh    bool
	// known: what was held there before is in the ledger.
	known bool
	node  *Node // as the version has it
}

// books are those of all listed nodes.
type books []book

// open opens the ledger of the listed nodes, and of those that tasks have left: with what was
// held there before, as far as that is known, but for what the workloads held that change.
func (d *delta) open(c *checker) books {
	for _, k := range d.workloads {
		if k.Before != nil {
			d.listLeft(c, k.Before.Tasks)
		}
	}
	if len(c.s.Nodes) == 0 {
		return nil
	}
	c.ledger = make(ledger, len(c.s.Nodes))
	books := make(books, len(c.s.Nodes))
	for i := range c.s.Nodes {
		id := c.s.Nodes[i].ID
		was, is := d.before.residents.Get(id), d.after.residents.Get(id)
		node := d.after.nodes.Get(id)
		books[i] = book{resident: is, fresh: is != was, node: node}
		if books[i].known = was == nil || was.held != nil && was.of == node; books[i].known && was != nil {
			c.ledger[i] = was.held.clone()
		} else {
			c.ledger[i] = newLedger(c.s.Nodes[i : i+1])[0]
		}
	}
	for _, k := range d.workloads {
		if k.Before == nil {
			continue
		}
		for i := range k.Before.Tasks {
			t := &k.Before.Tasks[i]
			if n, listed := c.nodes[t.Node]; listed && books[n].known {
				c.ledger[n].enter(&c.s.Nodes[n], k.Before.setOf(t), t, -1)
			}
		}
	}
	return books
}

// listLeft lists the nodes of tasks of which it is known what is held there.
func (d *delta) listLeft(c *checker, tasks []Task) {
	for i := range tasks {
		id := tasks[i].Node
		if _, listed := c.nodes[id]; listed {
			continue
		}
		if r := d.before.residents.Get(id); r == nil || r.held == nil {
			continue
		}
		if n := d.after.nodes.Get(id); n != nil {
			c.list(n)
		}
	}
}

// close keeps what is held for the next change.
func (b books) close(c *checker) {
	for i := range b {
		if b[i].fresh && b[i].resident != nil {
			b[i].resident.held, b[i].resident.of = &c.ledger[i], b[i].node
		}
	}
}

// setOf is the pod set of a task of the workload, which has been checked.
func (k *Workload) setOf(t *Task) *PodSet {
	sets := k.setsOf(k.FormOf(*t))
	return &sets[slices.IndexFunc(sets, func(p PodSet) bool { return p.Name == t.PodSet })]
}

// enterResidents enters into the ledger what else stands on the listed nodes of which that
// is not known.
func (d *delta) enterResidents(c *checker, books books, at *path) {
	var ids []string
	for i := range books {
		if b := &books[i]; !b.known && b.resident != nil {
			ids = append(ids, b.resident.workloads...)
		}
	}
	if len(books) > 1 {
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	for _, id := range ids {
		if _, changed := slices.BinarySearchFunc(d.workloads, id, func(k table.Difference[Workload], id string) int {
			return strings.Compare(cmp.Or(k.After, k.Before).ID, id)
		}); !changed { // else it has been entered
			enterResident(c, books, at, d.after.workloads.Get(id))
		}
	}
}

// enterResident enters what of a workload is on such nodes. All of it was checked when it
// came, but for the nodes.
func enterResident(c *checker, books books, at *path, w *Workload) {
	list := at.field("tasks")
	for i := range w.Tasks {
		t := &w.Tasks[i]
		n, listed := c.nodes[t.Node]
		if !listed || books[n].known {
			continue
		}
		below := list.at(i)
		enterTask(c, &below, n, w.setOf(t), t)
	}
}
