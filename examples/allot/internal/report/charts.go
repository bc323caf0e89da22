package report

import (
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/fairshare"
)

// A chart is the figures of one pool, resource and class, for all queues.
type chart struct {
	pool, resource, class string
	// total is what there is, scale what a full bar stands for.
	total, scale int64
	rows         []chartRow
}

// A chartRow is the figures of a queue, and where it stands in the tree.
type chartRow struct {
	*allot.Share
	// above are the queues above it, the uppermost first.
	above []string
}

// short is the queue's name without that of the queue above it.
func (r *chartRow) short() string {
	if n := len(r.above); n > 0 {
		return strings.TrimPrefix(r.Queue, r.above[n-1]+"/")
	}
	return words.QueueName(r.Queue)
}

// chartsOf groups the figures by pool, resource and class, in the order in which
// they come, and the queues in the order of the tree. What nobody is given,
// wants or uses has no chart.
func chartsOf(state *allot.State, shares []allot.Share) []chart {
	parents := make(map[string]string, len(state.Queues))
	for i := range state.Queues {
		parents[state.Queues[i].ID] = state.Queues[i].Parent
	}
	type key struct{ pool, resource, class string }
	at := make(map[key]int)
	var charts []chart
	for i := range shares {
		s := &shares[i]
		k := key{s.Pool, s.Resource, s.Class}
		n, ok := at[k]
		if !ok {
			n = len(charts)
			at[k] = n
			charts = append(charts, chart{pool: s.Pool, resource: s.Resource, class: s.Class})
		}
		row := chartRow{Share: s}
		for up := parents[s.Queue]; up != ""; up = parents[up] {
			row.above = append([]string{up}, row.above...)
		}
		charts[n].rows = append(charts[n].rows, row)
	}
	charts = slices.DeleteFunc(charts, func(c chart) bool { return !c.says() })
	for i := range charts {
		c := &charts[i]
		slices.SortFunc(c.rows, func(a, b chartRow) int {
			return slices.CompareFunc(append(a.above, a.Queue), append(b.above, b.Queue), words.CompareNames)
		})
		c.setScale()
	}
	return charts
}

// says: there is something to tell.
func (c *chart) says() bool {
	return slices.ContainsFunc(c.rows, func(r chartRow) bool {
		return r.Used > 0 || r.Demand > 0 || r.Divided || r.Class != ""
	})
}

// setScale makes the scale fit what the bars show. Demand may be more than
// there is, and then goes off the scale.
func (c *chart) setScale() {
	c.scale = 1
	for _, r := range c.rows {
		c.total = max(c.total, r.PoolTotal)
	}
	for _, r := range c.rows {
		c.scale = max(c.scale, r.Used, boundedAmount(r.Share), r.FairShare, min(r.Demand, c.total))
	}
}

// quotaFigure is the quota; a dash where the resource is under none.
func quotaFigure(s *allot.Share) string {
	switch {
	case !s.Divided && s.Class == "" || !s.Quota.Given():
		return "-"
	case s.Quota.IsUnlimited():
		return "unlimited"
	}
	return words.Figure(s.Resource, s.Quota.Amount())
}

// limitFigure is the limit; a dash is none.
func limitFigure(s *allot.Share) string {
	if !s.Limit.Given() || s.Limit.IsUnlimited() {
		return "-"
	}
	return words.Figure(s.Resource, s.Limit.Amount())
}

// boundedAmount is the quota where it is a number.
func boundedAmount(s *allot.Share) int64 {
	if s.Quota.Given() && !s.Quota.IsUnlimited() {
		return s.Quota.Amount()
	}
	return 0
}

// title says what the chart is of.
func (c *chart) title() string {
	what := c.resource
	if what == allot.GPU || what == allot.CPU {
		what = strings.ToUpper(what) + "s"
	}
	if c.class != "" {
		what += " of " + c.class
	}
	if c.pool != "" {
		what += " of pool " + c.pool
	}
	return words.UpperFirst(what)
}

// divided says whether there are fair shares to show.
func (c *chart) divided() bool { return c.rows[0].Divided }

// standing is where a queue stands, in people's words.
func standing(s *allot.Share) string {
	switch {
	case !s.Divided && s.Class == "":
		return ""
	case s.State == fairshare.OverFairShare:
		return "over its fair share"
	case s.State == fairshare.OverQuota:
		return "borrows"
	case s.Used == 0:
		return "idle"
	}
	return "within quota"
}
