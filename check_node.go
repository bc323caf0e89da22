package allot

import (
	"strconv"
	"time"

	"github.com/allotsched/allot/placement"
)

func (c *checker) checkNodes(at *path) {
	nodes := c.s.Nodes
	list := at.field("nodes")
	c.nodes = c.directory(&list, len(nodes), func(i int) string { return nodes[i].ID })
	var foreign sums
	for i := range nodes {
		below := list.at(i)
		c.checkNode(&below, &nodes[i])
		for name, n := range nodes[i].Capacity { // sums have no order
			c.capacity.of(name).add(n, 1)
		}
		for name, n := range nodes[i].Foreign { // sums have no order
			foreign.of(name).add(n, 1)
		}
	}
	c.checkSums(&list, &c.capacity, "have")
	c.checkSums(&list, &foreign, "lose to foreign use")
}

func (c *checker) checkNode(at *path, n *Node) {
	c.name(at, "id", n.ID)
	c.text(at, "class", n.Class)
	c.amounts(at, "capacity", n.Capacity)
	c.amounts(at, "foreign", n.Foreign)
	c.within(at, "maxTasks", int64(n.MaxTasks), 0, maxCount)
	c.within(at, "foreignTasks", int64(n.ForeignTasks), 0, maxCount)
	devices := at.field("devices")
	if len(n.Devices) > maxDevices {
		c.fault(&devices, FaultTooMany, strconv.Itoa(len(n.Devices)), "must be at most "+strconv.Itoa(maxDevices))
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		below := devices.at(i)
		c.text(&below, "model", d.Model)
		c.within(&below, "memory", d.Memory, 0, MaxAmount)
		c.within(&below, "socket", int64(d.Socket), 0, maxIslands)
		c.within(&below, "switch", int64(d.Switch), 0, maxIslands)
		c.within(&below, "foreign", d.Foreign, 0, 1000)
	}
	c.domains(at, n.Domains)
	c.hardware(at, n)
	c.links(at, n)
	c.labels(at, "labels", n.Labels)
	for i, taint := range n.Taints {
		below := at.field("taints")
		below2 := below.at(i)
		c.text(&below2, "key", taint.Key)
		c.text(&below2, "value", taint.Value)
		c.adopt(&below2, FaultToleration, taint.Validate())
	}
}

// labels checks a map of labels.
func (c *checker) labels(at *path, field string, labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	below := at.field(field)
	for key, value := range labels { // the faults are sorted in the end
		c.key(&below, key)
		if !soundText(value) {
			entry := below.key(key)
			c.unsoundText(&entry, value)
		}
	}
}

// selector checks a selector.
func (c *checker) selector(at *path, s *placement.Selector) {
	if s == nil || s.IsZero() {
		return
	}
	c.labels(at, "labels", s.Labels)
	for i := range s.Expressions {
		e := &s.Expressions[i]
		list := at.field("expressions")
		below := list.at(i)
		c.text(&below, "key", e.Key)
		values := below.field("values")
		for j, value := range e.Values {
			if !soundText(value) {
				entry := values.at(j)
				c.unsoundText(&entry, value)
			}
		}
	}
	c.adopt(at, FaultSelector, s.Validate())
}

// adopt takes over the faults that placement found in a value of its own.
// Their paths begin where at ends, and an empty label key is reported already.
func (c *checker) adopt(at *path, code FaultCode, faults []placement.Fault) {
	for _, f := range faults {
		if f.Path == `labels[""]` {
			continue
		}
		fault := Fault{
			Path: at.String() + "." + f.Path, Code: code,
			Value: strconv.QuoteToASCII(f.Value), Want: placementWants[f.Kind],
		}
		if f.Kind == placement.UnknownOperator || f.Kind == placement.UnknownEffect {
			fault.Code, fault.Value = FaultUnknownValue, f.Value
		}
		c.faults = append(c.faults, placeFault(c.s, at, fault))
	}
}

var placementWants = [...]string{
	placement.EmptyKey:        "must not be empty",
	placement.UnknownOperator: "must be In, NotIn, Exists, DoesNotExist, Gt or Lt",
	placement.UnknownEffect:   "must be NoSchedule, PreferNoSchedule or NoExecute",
	placement.MissingValue:    "must have a value for the operator",
	placement.UnexpectedValue: "must not be there: the operator takes no such value",
	placement.NotAnInteger:    "must be a whole number",
}

// time checks an instant; zero is unset.
func (c *checker) time(at *path, field string, t time.Time) {
	if !t.IsZero() {
		checkInstant(c, at, field, t)
	}
}

// checkInstant checks an instant that is set.
func checkInstant(c *checker, at *path, field string, t time.Time) {
	if s := t.Unix(); s < firstSecond || s >= endSecond {
		c.faultAt(at, field, FaultRange, t.UTC().Format(time.RFC3339Nano), "must be of the years 1970 to 9999")
	}
}
