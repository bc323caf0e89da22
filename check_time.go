package allot

import (
	"math"
	"strconv"
	"time"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// What says when and for how long is checked here (B1–B12).

// secondsOf is the second of a time since 1970; the zero time is at 0.
func secondsOf(t time.Time) int64 { return max(0, t.Unix()) }

// checkDuration checks a bound of seconds of at least 1 that is added to times.
func checkDuration(c *checker, at *path, field string, b quota.Bound) {
	if !b.Given() || b.IsUnlimited() || !c.within(at, field, b.Amount(), leastDuration, maxDuration) {
		return
	}
	c.longest = max(c.longest, b.Amount())
	if left := endSecond - secondsOf(c.s.Now); b.Amount() >= left {
		c.faultAt(at, field, FaultRange, b.String(), "must end before the year 10000, and from now on be < "+strconv.FormatInt(left, 10))
	}
}

// checkDurations checks the field "durations".
func checkDurations(c *checker, at *path, d *Durations) {
	below := at.field("durations")
	checkDuration(c, &below, "default", d.Default)
	checkDuration(c, &below, "defaultLimit", d.DefaultLimit)
	checkDuration(c, &below, "max", d.Max)
}

// checkTimePolicy checks the knobs of a policy about time.
func checkTimePolicy(c *checker, at *path, p *Policy) {
	checkDurations(c, at, &p.Durations)
	c.bound(at, "killGrace", p.KillGrace)
	c.within(at, "usageStrengthMilli", p.UsageStrengthMilli, 0, maxStrength)
	enum(c, at, "usageDecay", p.UsageDecay)
	checkDuration(c, at, "usagePeriod", p.UsagePeriod)
	if p.UsagePeriod.IsUnlimited() {
		c.faultAt(at, "usagePeriod", FaultRange, p.UsagePeriod.String(), "must be a number")
	}
	below := at.field("reserve")
	r := &p.Reserve
	enum(c, &below, "backfill", r.Backfill)
	c.within(&below, "depth", int64(r.Depth), 0, maxCount)
	if r.FromPriority.Given() {
		c.within(&below, "fromPriority", r.FromPriority.Amount(), -math.MaxInt32, math.MaxInt32)
	}
	c.bound(&below, "after", r.After)
	c.within(&below, "maxPromises", int64(r.MaxPromises), 0, maxCount)
	if r.MaxHeldPercent.Given() {
		c.within(&below, "maxHeldPercent", r.MaxHeldPercent.Amount(), 0, 100)
	}
	c.bound(&below, "maxHold", r.MaxHold)
	c.bound(&below, "ratherWait", r.RatherWait)
	c.bound(&below, "horizon", r.Horizon)
	c.bound(&below, "resolution", r.Resolution)
	if r.Resolution.IsUnlimited() {
		c.faultAt(&below, "resolution", FaultRange, r.Resolution.String(), "must be a number")
	}
}

// checkTimes checks what a workload says of time.
func checkTimes(c *checker, at *path, w *Workload) {
	checkDuration(c, at, "duration", w.Duration)
	checkDuration(c, at, "timeLimit", w.TimeLimit)
	longest := int64(maxDuration)
	for _, b := range [...]quota.Bound{w.Duration, w.TimeLimit} {
		if b.Given() && !b.IsUnlimited() {
			longest = min(longest, max(b.Amount(), leastDuration))
		}
	}
	c.within(at, "minDuration", w.MinDuration, 0, longest)
	c.within(at, "fixedWork", w.FixedWork, 0, maxWork)
	c.within(at, "workDone", w.WorkDone, 0, maxWork)
	c.time(at, "notBefore", w.NotBefore)
	c.time(at, "waitingSince", w.WaitingSince)
	c.time(at, "heldSince", w.HeldSince)
	deadline := at.field("deadline")
	c.time(&deadline, "start", w.Deadline.Start)
	c.time(&deadline, "end", w.Deadline.End)
	if w.Reserved != nil {
		below := at.field("reserved")
		checkPromise(c, &below, w.Reserved)
	}
}

// checkPromise checks the form of a promise. What it names may be gone: then Solve withdraws it
// and says why (B7).
func checkPromise(c *checker, at *path, p *Promise) {
	c.time(at, "at", p.At)
	if !prose.Known(promiseRuleNames[:], p.Rule) {
		unknownValue(c, at, "rule", p.Rule)
	}
	c.within(at, "form", int64(p.Form), 0, maxAlternatives)
	list := at.field("tasks")
	for i := range p.Tasks {
		t := &p.Tasks[i]
		below := list.at(i)
		c.text(&below, "podSet", t.PodSet)
		c.within(&below, "index", int64(t.Index), 0, maxCount)
		c.text(&below, "node", t.Node)
		checkPromisedDevices(c, &below, t.Devices)
	}
	list = at.field("waitsFor")
	for i, id := range p.WaitsFor {
		if !soundText(id) {
			below := list.at(i)
			c.unsoundText(&below, id)
		}
	}
	c.time(at, "made", p.Made)
	c.time(at, "first", p.First)
}

// checkPromisedDevices checks that devices could be those of a node.
func checkPromisedDevices(c *checker, at *path, devices []int) {
	list := at.field("devices")
	var seen uint64
	for i, d := range devices {
		below := list.at(i)
		switch {
		case d < 0 || d >= maxDevices:
			c.fault(&below, FaultUnknownDevice, strconv.Itoa(d), "must be the index of a device")
		case seen&(1<<d) != 0:
			c.fault(&below, FaultDeviceTwice, strconv.Itoa(d), "must be listed once")
		default:
			seen |= 1 << d
		}
	}
}

// checkReservations checks what people have reserved (B9).
func checkReservations(c *checker, at *path) {
	reservations := c.s.Reservations
	if len(reservations) == 0 {
		return
	}
	list := at.field("reservations")
	c.directory(&list, len(reservations), func(i int) string { return reservations[i].ID })
	for i := range reservations {
		below := list.at(i)
		checkReservation(c, &below, &reservations[i])
	}
}

func checkReservation(c *checker, at *path, r *Reservation) {
	c.name(at, "id", r.ID)
	checkReservedNodes(c, at, r.Nodes)
	checkReservedDomains(c, at, r.Domains)
	if list := at.field("nodes"); len(r.Nodes)+len(r.Domains) == 0 {
		c.fault(&list, FaultEmpty, "[]", "must have at least one node, or domains one")
	}
	c.time(at, "from", r.From)
	c.time(at, "until", r.Until)
	if !r.Until.IsZero() && !r.From.Before(r.Until) {
		c.faultAt(at, "until", FaultRange, r.Until.UTC().Format(time.RFC3339Nano), "must be later than from")
	}
	if _, ok := c.queues[r.Queue]; r.Queue != "" && !ok {
		c.faultAt(at, "queue", FaultUnknownQueue, strconv.QuoteToASCII(r.Queue), "must name a queue")
	}
	list := at.field("workloads")
	named := make(map[string]int, len(r.Workloads))
	for i, id := range r.Workloads {
		below := list.at(i)
		if first, twice := named[id]; twice {
			there := list.at(first)
			c.fault(&below, FaultDuplicate, strconv.QuoteToASCII(id), "must differ from "+there.String())
			continue
		}
		named[id] = i
		if id == "" {
			c.fault(&below, FaultEmpty, `""`, "must not be empty")
		} else if !soundText(id) {
			c.unsoundText(&below, id)
		}
	}
	if r.Drain && !r.Evict {
		c.faultAt(at, "drain", FaultExclusive, "true", "must not be given without evict")
	}
	if r.Lend && r.isMaintenance() {
		c.faultAt(at, "lend", FaultExclusive, "true", "must not be given where nobody is a member")
	}
}

// checkReservedNodes checks the nodes of a reservation.
func checkReservedNodes(c *checker, at *path, nodes []ReservedNode) {
	list := at.field("nodes")
	named := make(map[string]int, len(nodes))
	for i := range nodes {
		below := list.at(i)
		id := nodes[i].Node
		n, ok := c.nodes[id]
		if !ok {
			c.faultAt(&below, "node", FaultUnknownNode, strconv.QuoteToASCII(id), "must name a node")
			continue
		}
		if first, twice := named[id]; twice {
			c.duplicate(&list, i, "node", id, first)
			continue
		}
		named[id] = i
		checkPromisedDevices(c, &below, nodes[i].Devices)
		devices := below.field("devices")
		for k, d := range nodes[i].Devices {
			if has := len(c.s.Nodes[n].Devices); d >= has && d < maxDevices {
				here := devices.at(k)
				c.fault(&here, FaultUnknownDevice, strconv.Itoa(d), "must be the index of one of the "+strconv.Itoa(has)+" devices of "+strconv.QuoteToASCII(id))
			}
		}
	}
}

// checkReservedDomains checks the amounts of a reservation.
func checkReservedDomains(c *checker, at *path, domains []ReservedDomain) {
	list := at.field("domains")
	named := make(map[ReservedDomain]int, len(domains))
	for i, d := range domains {
		below := list.at(i)
		if _, listed := c.levels[d.Level]; !listed {
			c.faultAt(&below, "level", FaultUnknownLevel, strconv.QuoteToASCII(d.Level), "must name a level that is listed, or "+NodeLevel)
		}
		c.text(&below, "domain", d.Domain)
		c.within(&below, "devices", int64(d.Devices), 1, maxCount)
		of := ReservedDomain{Level: d.Level, Domain: d.Domain}
		if first, twice := named[of]; twice {
			there := list.at(first)
			c.fault(&below, FaultDuplicate, strconv.QuoteToASCII(d.Domain), "must be of another domain than "+there.String())
			continue
		}
		named[of] = i
	}
}
