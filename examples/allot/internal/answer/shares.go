package answer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/chart"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
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
	charts := chart.Of(a.state, a.plan.Shares)
	if len(charts) == 0 {
		p.Line(output.Bold, "nothing is in use, and nobody wants anything that there is")
		return
	}
	p.Line(output.Bold, summary(&charts[0]))
	hidden := 0
	for i := range charts {
		if i > 0 && !p.Verbose && !p.Wide && (!charts[i].Divided() || i > 2) {
			hidden++
			continue
		}
		write(&charts[i], p)
	}
	p.Line(output.Plain, "")
	p.Prose("", "", output.Faint, "The bar is the use: # within quota, + borrowed, . wanted beside it; | is the quota, f the fair share.")
	if hidden > 0 {
		p.Line(output.Faint, "and "+prose.Count(hidden, "more resource")+"; "+p.NotAll())
	}
}

// summary is who uses what in one line: "6 of 12 GPUs are in use; vision 6, speech 0".
func summary(c *chart.Chart) string {
	var top []*chart.Row
	used := int64(0)
	for i := range c.Rows {
		if len(c.Rows[i].Above) == 0 {
			top = append(top, &c.Rows[i])
			used += c.Rows[i].Used
		}
	}
	slices.SortStableFunc(top, func(a, b *chart.Row) int { return cmp.Compare(b.Used, a.Used) })
	var parts []string
	for i, r := range top {
		if i == 5 {
			parts = append(parts, strconv.Itoa(len(top)-i)+" more")
			break
		}
		parts = append(parts, words.QueueName(r.Queue)+" "+words.Figure(c.Resource, r.Used))
	}
	return words.Figure(c.Resource, used) + " of " + words.Amount(c.Resource, c.Total) + " are in use: " + strings.Join(parts, ", ")
}

// standingStyle is that of where a queue stands.
func standingStyle(s *allot.Share) output.Style {
	switch chart.Standing(s) {
	case "over its fair share":
		return output.Red
	case "borrows":
		return output.Yellow
	case "within quota":
		return output.Green
	}
	return output.Faint
}

func write(c *chart.Chart, p *output.Page) {
	p.Heading(c.Title() + ": " + words.Figure(c.Resource, c.Total) + " usable")
	rows := [][]output.Cell{{
		output.Words("queue"), output.Number("quota"), output.Number("used"), output.Number("borrowed"), output.Number("fair share"),
		output.Number("wants"), output.Number("limit"), output.Words("use"), output.Words(""),
	}}
	shown := shownOf(c, p)
	for _, r := range shown {
		s := r.Share
		fair, wants := "-", "-"
		if s.Divided {
			fair = words.Figure(s.Resource, s.FairShare)
		}
		if s.Class == "" {
			wants = words.Figure(s.Resource, s.Demand)
		}
		rows = append(rows, []output.Cell{
			output.Words(strings.Repeat("  ", len(r.Above)) + r.Short()), output.Number(chart.QuotaFigure(s)),
			{Text: words.Figure(s.Resource, s.Used), Style: output.Bold, Right: true},
			output.Number(words.Figure(s.Resource, s.Borrowed)), output.Number(fair), output.Number(wants), output.Number(chart.LimitFigure(s)),
			output.Words(bar(c, s)), {Text: chart.Standing(s), Style: standingStyle(s)},
		})
	}
	p.Table("", rows)
	tellLeft(p, "", len(c.Rows)-len(shown), " queues, which use less")
}

// shown are the rows that are told: all, or where there are many those that use most,
// with the queues above them.
func shownOf(c *chart.Chart, p *output.Page) []chart.Row {
	if p.Verbose || len(c.Rows) <= mostTold+4 {
		return c.Rows
	}
	order := slices.Clone(c.Rows)
	slices.SortStableFunc(order, func(a, b chart.Row) int { return cmp.Compare(b.Used+b.Demand, a.Used+a.Demand) })
	keep := make(map[string]bool)
	for _, r := range order {
		if len(keep)+len(r.Above)+1 > mostTold+4 {
			break
		}
		keep[r.Queue] = true
		for _, up := range r.Above {
			keep[up] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r chart.Row) bool { return !keep[r.Queue] })
}

// barWidth is how many letters the longest bar has.
const barWidth = 24

// bar draws the use of a queue with letters.
func bar(c *chart.Chart, s *allot.Share) string {
	line := []byte(strings.Repeat(" ", barWidth+1))
	fill := func(from, to int64, letter byte) {
		for i := words.Ratio(from, c.Scale, barWidth); i < words.Ratio(to, c.Scale, barWidth); i++ {
			line[i] = letter
		}
	}
	fill(s.Used, s.Demand, '.')
	fill(0, s.InQuota, '#')
	fill(s.InQuota, s.Used, '+')
	if s.Divided {
		line[words.Ratio(s.FairShare, c.Scale, barWidth)] = 'f'
	}
	if s.Quota.Given() && !s.Quota.IsUnlimited() {
		line[words.Ratio(s.Quota.Amount(), c.Scale, barWidth)] = '|'
	}
	return strings.TrimRight(string(line), " ")
}
