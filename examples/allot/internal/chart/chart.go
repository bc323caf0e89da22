// Package chart arranges the figures of queues: a chart for each pool, resource and class,
// the queues of each in the order of their tree, and one scale for their bars.
package chart

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/fairshare"
)

// A Chart is the figures of one pool, resource and class, for all queues.
type Chart struct {
	Pool, Resource, Class string
	// Total is what there is, Scale what a full bar stands for.
	Total, Scale int64
	Rows         []Row
}

// A Row is the figures of a queue, and where it stands in the tree.
type Row struct {
	*allot.Share
	// Above are the queues above it, the uppermost first.
	Above []string
}

// Short is the queue's name without that of the queue above it.
func (r *Row) Short() string {
	if n := len(r.Above); n > 0 {
		return strings.TrimPrefix(r.Queue, r.Above[n-1]+"/")
	}
	return words.QueueName(r.Queue)
}

// Of groups the figures by pool, resource and class, in the order in which
// they come, and the queues in the order of the tree: GPUs first, then
// what is divided. What nobody is given, wants or uses has no chart.
func Of(state *allot.State, shares []allot.Share) []Chart {
	parents := make(map[string]string, len(state.Queues))
	for i := range state.Queues {
		parents[state.Queues[i].ID] = state.Queues[i].Parent
	}
	type key struct{ Pool, Resource, Class string }
	at := make(map[key]int)
	var charts []Chart
	for i := range shares {
		s := &shares[i]
		k := key{s.Pool, s.Resource, s.Class}
		n, ok := at[k]
		if !ok {
			n = len(charts)
			at[k] = n
			charts = append(charts, Chart{Pool: s.Pool, Resource: s.Resource, Class: s.Class})
		}
		row := Row{Share: s}
		for up := parents[s.Queue]; up != ""; up = parents[up] {
			row.Above = append([]string{up}, row.Above...)
		}
		charts[n].Rows = append(charts[n].Rows, row)
	}
	charts = slices.DeleteFunc(charts, func(c Chart) bool { return !c.says() })
	slices.SortStableFunc(charts, func(a, b Chart) int { return cmp.Compare(a.rank(), b.rank()) })
	for i := range charts {
		c := &charts[i]
		slices.SortFunc(c.Rows, func(a, b Row) int {
			return slices.CompareFunc(append(a.Above, a.Queue), append(b.Above, b.Queue), words.CompareNames)
		})
		c.Fit()
	}
	return charts
}

// rank is where the chart stands among the others.
func (c *Chart) rank() int {
	switch {
	case c.Resource == allot.GPU && c.Class == "":
		return 0
	case c.Divided():
		return 1
	}
	return 2
}

// says: there is something to tell.
func (c *Chart) says() bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool {
		return r.Used > 0 || r.Demand > 0 || r.Divided || r.Class != ""
	})
}

// Fit makes the scale fit what the bars show. Demand may be more than
// there is, and then goes off the scale.
func (c *Chart) Fit() {
	c.Scale = 1
	for _, r := range c.Rows {
		c.Total = max(c.Total, r.PoolTotal)
	}
	for _, r := range c.Rows {
		c.Scale = max(c.Scale, r.Used, boundedAmount(r.Share), r.FairShare, min(r.Demand, c.Total))
	}
}

// QuotaFigure is the quota; a dash where the resource is under none.
func QuotaFigure(s *allot.Share) string {
	switch {
	case !s.Divided && s.Class == "" || !s.Quota.Given():
		return "-"
	case s.Quota.IsUnlimited():
		return "unlimited"
	}
	return words.Figure(s.Resource, s.Quota.Amount())
}

// LimitFigure is the limit; a dash is none.
func LimitFigure(s *allot.Share) string {
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

// Title says what the chart is of.
func (c *Chart) Title() string {
	what := c.Resource
	if what == allot.GPU || what == allot.CPU {
		what = strings.ToUpper(what) + "s"
	}
	if c.Class != "" {
		what += " of " + c.Class
	}
	if c.Pool != "" {
		what += " of pool " + c.Pool
	}
	return words.UpperFirst(what)
}

// Divided says whether there are fair shares to show.
func (c *Chart) Divided() bool { return c.Rows[0].Divided }

// Standing is where a queue stands, in people's words.
func Standing(s *allot.Share) string {
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
