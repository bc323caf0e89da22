package answer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/fairshare"
)

// Shares answers who is guaranteed what, who uses what, and who borrows. GPUs are told
// first; other resources only where they are divided, or where all are asked for.
func Shares(s *allot.State, plan *allot.Plan) output.Answer { return &sharesAnswer{s, plan} }

type sharesAnswer struct {
	state *allot.State
	plan  *allot.Plan
}

func (a *sharesAnswer) Data() any { return a.plan.Shares }

func (a *sharesAnswer) Write(p *output.Page) {
	charts := chartsOf(a.state, a.plan.Shares)
	if len(charts) == 0 {
		p.Line(output.Bold, "nothing is in use, and nobody wants anything that there is")
		return
	}
	p.Line(output.Bold, charts[0].summary())
	hidden := 0
	for i := range charts {
		if i > 0 && !p.Verbose && !p.Wide && (!charts[i].rows[0].Divided || i > 2) {
			hidden++
			continue
		}
		charts[i].write(p)
	}
	p.Line(output.Plain, "")
	p.Prose("", "", output.Faint, "The bar is the use: # within quota, + borrowed, . wanted beside it; | is the quota, f the fair share.")
	if hidden > 0 {
		p.Line(output.Faint, strconv.Itoa(hidden)+" more resources are under no quota; -v tells all")
	}
}

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
	return QueueName(r.Queue)
}

// chartsOf groups the figures by pool, resource and class, in the order in which they
// come, and the queues in the order of the tree. What nobody is given, wants or uses has
// no chart.
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
	slices.SortStableFunc(charts, func(a, b chart) int {
		rank := func(c *chart) int {
			switch {
			case c.resource == allot.GPU && c.class == "":
				return 0
			case c.rows[0].Divided:
				return 1
			}
			return 2
		}
		return cmp.Compare(rank(&a), rank(&b))
	})
	for i := range charts {
		c := &charts[i]
		slices.SortFunc(c.rows, func(a, b chartRow) int {
			return slices.Compare(append(a.above, a.Queue), append(b.above, b.Queue))
		})
		c.setScale()
	}
	return charts
}

// says: there is something to tell.
func (c *chart) says() bool {
	return slices.ContainsFunc(c.rows, func(r chartRow) bool { return r.Used > 0 || r.Demand > 0 || r.Divided || r.Class != "" })
}

// setScale makes the scale fit what the bars show. Demand may be more than there is, and
// then goes off the scale.
func (c *chart) setScale() {
	c.scale = 1
	for _, r := range c.rows {
		c.total = max(c.total, r.PoolTotal)
	}
	for _, r := range c.rows {
		c.scale = max(c.scale, r.Used, boundedAmount(r.Share), r.FairShare, min(r.Demand, c.total))
	}
}

// summary is who uses what in one line: "6 of 12 GPUs are in use; vision 6, speech 0".
func (c *chart) summary() string {
	var top []*chartRow
	used := int64(0)
	for i := range c.rows {
		if len(c.rows[i].above) == 0 {
			top = append(top, &c.rows[i])
			used += c.rows[i].Used
		}
	}
	slices.SortStableFunc(top, func(a, b *chartRow) int { return cmp.Compare(b.Used, a.Used) })
	var parts []string
	for i, r := range top {
		if i == 5 {
			parts = append(parts, strconv.Itoa(len(top)-i)+" more")
			break
		}
		parts = append(parts, QueueName(r.Queue)+" "+Figure(c.resource, r.Used))
	}
	return Figure(c.resource, used) + " of " + Amount(c.resource, c.total) + " are in use: " + strings.Join(parts, ", ")
}

// quotaFigure is the quota; a dash where the resource is under none.
func quotaFigure(s *allot.Share) string {
	switch {
	case !s.Divided && s.Class == "" || !s.Quota.Given():
		return "-"
	case s.Quota.IsUnlimited():
		return "unlimited"
	}
	return Figure(s.Resource, s.Quota.Amount())
}

// limitFigure is the limit; a dash is none.
func limitFigure(s *allot.Share) string {
	if !s.Limit.Given() || s.Limit.IsUnlimited() {
		return "-"
	}
	return Figure(s.Resource, s.Limit.Amount())
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
	return strings.ToUpper(what[:1]) + what[1:]
}

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

func standingStyle(s *allot.Share) output.Style {
	switch standing(s) {
	case "over its fair share":
		return output.Red
	case "borrows":
		return output.Yellow
	case "within quota":
		return output.Green
	}
	return output.Faint
}

func (c *chart) write(p *output.Page) {
	p.Heading(c.title() + ": " + Figure(c.resource, c.total) + " usable")
	rows := [][]output.Cell{{
		output.Words("queue"), output.Number("quota"), output.Number("used"), output.Number("borrowed"), output.Number("fair share"),
		output.Number("wants"), output.Number("limit"), output.Words("use"), output.Words(""),
	}}
	shown := c.shown(p)
	for _, r := range shown {
		s := r.Share
		fair, wants := "-", "-"
		if s.Divided {
			fair = Figure(s.Resource, s.FairShare)
		}
		if s.Class == "" {
			wants = Figure(s.Resource, s.Demand)
		}
		rows = append(rows, []output.Cell{
			output.Words(strings.Repeat("  ", len(r.above)) + r.short()), output.Number(quotaFigure(s)),
			{Text: Figure(s.Resource, s.Used), Style: output.Bold, Right: true},
			output.Number(Figure(s.Resource, s.Borrowed)), output.Number(fair), output.Number(wants), output.Number(limitFigure(s)),
			output.Words(c.bar(s)), {Text: standing(s), Style: standingStyle(s)},
		})
	}
	p.Table("", rows)
	if more := len(c.rows) - len(shown); more > 0 {
		p.Line(output.Faint, "and "+strconv.Itoa(more)+" more queues, which use less; -v tells all")
	}
}

// shown are the rows that are told: all, or where there are many those that use most,
// with the queues above them.
func (c *chart) shown(p *output.Page) []chartRow {
	if p.Verbose || len(c.rows) <= mostTold+4 {
		return c.rows
	}
	order := slices.Clone(c.rows)
	slices.SortStableFunc(order, func(a, b chartRow) int { return cmp.Compare(b.Used+b.Demand, a.Used+a.Demand) })
	keep := make(map[string]bool)
	for _, r := range order {
		if len(keep)+len(r.above)+1 > mostTold+4 {
			break
		}
		keep[r.Queue] = true
		for _, up := range r.above {
			keep[up] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.rows), func(r chartRow) bool { return !keep[r.Queue] })
}

// barWidth is how many letters the longest bar has.
const barWidth = 24

// bar draws the use of a queue with letters.
func (c *chart) bar(s *allot.Share) string {
	bar := []byte(strings.Repeat(" ", barWidth+1))
	fill := func(from, to int64, letter byte) {
		for i := ratio(from, c.scale, barWidth); i < ratio(to, c.scale, barWidth); i++ {
			bar[i] = letter
		}
	}
	fill(s.Used, s.Demand, '.')
	fill(0, s.InQuota, '#')
	fill(s.InQuota, s.Used, '+')
	if s.Divided {
		bar[ratio(s.FairShare, c.scale, barWidth)] = 'f'
	}
	if s.Quota.Given() && !s.Quota.IsUnlimited() {
		bar[ratio(s.Quota.Amount(), c.scale, barWidth)] = '|'
	}
	return strings.TrimRight(string(bar), " ")
}
