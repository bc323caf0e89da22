package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/examples/allot/internal/chart"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/prose"
)

// A shareChart is the bars of one pool and resource.
type shareChart struct {
	Title, Total, Scale string
	Divided             bool
	Rows                []shareRow
	// Below are the charts of queues with children, where there are too many
	// queues for one chart.
	Below []shareChart
}

// A shareRow is the bar of a queue. Positions are percentages of the scale, with
// two decimals; empty is what is not drawn.
type shareRow struct {
	Queue        string
	Depth        int
	Standing     string
	Class        string
	Label        string
	InQuota      string
	BorrowedFrom string
	Borrowed     string
	Demand       string
	More         bool
	Quota        string
	FairShare    string
	Limit        string
	Figures      []shareFigure
	// Derivation says how the fair share came about; ID is the queue's.
	Derivation []string
	ID         string
}

// A shareFigure is a number under a bar.
type shareFigure struct{ Name, Value, Key string }

// oneChart is how many queues one chart has at most.
const oneChart = 24

func newShareChart(c *chart.Chart) shareChart {
	out := shareChart{Title: c.Title(), Total: words.Figure(c.Resource, c.Total), Divided: c.Divided()}
	if len(c.Rows) <= oneChart {
		out.draw(c.Rows, c)
		return out
	}
	var top []chart.Row
	var heads []string
	children := make(map[string][]chart.Row)
	for _, r := range c.Rows {
		if len(r.Above) == 0 {
			top = append(top, r)
			continue
		}
		if head := r.Above[0]; children[head] == nil {
			heads = append(heads, head)
		}
		children[r.Above[0]] = append(children[r.Above[0]], r)
	}
	// A flat or broad tree is cut into pieces.
	for from := 0; from < len(top) && len(top) > oneChart; from += oneChart {
		piece := top[from:min(from+oneChart, len(top))]
		out.below(c, "Queues "+piece[0].Queue+" to "+piece[len(piece)-1].Queue, piece)
	}
	for _, head := range heads {
		out.below(c, "Queues of "+head, children[head])
	}
	if len(top) <= oneChart {
		out.draw(top, c)
	}
	return out
}

// below adds a chart of its own scale.
func (out *shareChart) below(c *chart.Chart, title string, rows []chart.Row) {
	part := &chart.Chart{Pool: c.Pool, Resource: c.Resource, Class: c.Class, Rows: rows}
	part.Fit()
	b := shareChart{Title: title, Divided: out.Divided}
	b.draw(rows, part)
	out.Below = append(out.Below, b)
}

func (out *shareChart) draw(rows []chart.Row, c *chart.Chart) {
	out.Scale = words.Figure(c.Resource, c.Scale)
	for i := range rows {
		out.Rows = append(out.Rows, rowOf(c, &rows[i]))
	}
}

// position is where an amount stands on a bar of a scale, such as "12.5".
func position(scale, n int64) string {
	at := words.Ratio(n, scale, 10_000)
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatInt(at/100, 10)+"."+strconv.FormatInt(100+at%100, 10)[1:], "0"), ".")
}

func rowOf(c *chart.Chart, from *chart.Row) shareRow {
	s := from.Share
	amountOf := func(n int64) string { return words.Figure(s.Resource, n) }
	r := shareRow{
		ID: s.Queue, Queue: from.Short(), Depth: min(len(from.Above), 4),
		Standing: chart.Standing(s), Class: strings.ReplaceAll(chart.Standing(s), " ", "-"),
	}
	r.InQuota, r.BorrowedFrom, r.Borrowed = position(c.Scale, s.InQuota), position(c.Scale, s.InQuota), position(c.Scale, s.OverQuota)
	if !c.Divided() && s.Class == "" {
		r.InQuota, r.Borrowed = position(c.Scale, s.Used), "0"
	}
	if s.Demand > s.Used {
		r.Demand, r.More = position(c.Scale, s.Demand), s.Demand > c.Scale
	}
	add := func(key, name, value string) {
		if value != "-" && value != "" {
			r.Figures = append(r.Figures, shareFigure{name, value, key})
		}
	}
	add("used", "uses", amountOf(s.Used))
	if s.Borrowed > 0 {
		add("borrowed", "borrows", amountOf(s.Borrowed))
	}
	add("quota", "quota", chart.QuotaFigure(s))
	if s.Divided {
		add("fair", "fair share", amountOf(s.FairShare))
		r.FairShare = position(c.Scale, s.FairShare)
	}
	if s.WeightMilli > 0 || s.AdjustedMilli > 0 {
		add("weight", "weight", prose.Thousandths(s.WeightMilli)+", by what it has used "+prose.Thousandths(s.AdjustedMilli))
	}
	if s.Class == "" {
		add("wants", "wants", amountOf(s.Demand))
	}
	if s.Lent > 0 {
		add("lent", "lends", amountOf(s.Lent))
	}
	add("limit", "limit", chart.LimitFigure(s))
	if q := chart.QuotaFigure(s); q != "-" && q != "unlimited" {
		r.Quota = position(c.Scale, s.Quota.Amount())
	}
	if chart.LimitFigure(s) != "-" && s.Limit.Amount() <= c.Scale {
		r.Limit = position(c.Scale, s.Limit.Amount())
	}
	texts := make([]string, len(r.Figures))
	for i, f := range r.Figures {
		texts[i] = f.Name + " " + f.Value
	}
	r.Label = words.QueueName(s.Queue) + ": " + strings.Join(texts, ", ")
	if r.Standing != "" {
		r.Label += "; " + r.Standing
	}
	return r
}

// derive tells of the queues of a chart how their fair shares came about, unless
// there are so many of them that nobody would read it.
func (d *drawing) derive(v *shareChart, c *chart.Chart) error {
	if !v.Divided || len(c.Rows) > oneChart {
		return nil
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		e, err := explain.Queue(d.ctx, d.decision, r.ID)
		if err != nil {
			return err
		}
		for _, division := range e.Divisions {
			if division.Resource == c.Resource {
				r.Derivation = append(r.Derivation, derivation(&division, e.Path))
			}
		}
	}
	return nil
}

// derivation is a division as it concerns the queue of the path.
func derivation(d *explain.Division, path []string) string {
	text := "Of " + words.Amount(d.Resource, d.Capacity)
	if d.Parent == "" {
		text += " of the pool "
	} else {
		text += " of " + d.Parent + " "
	}
	for i := range d.Members {
		m := &d.Members[i]
		if !slices.Contains(path, m.Queue) {
			continue
		}
		text += words.QueueName(m.Queue) + " gets " + words.Figure(d.Resource, m.QuotaPart) + " for its quota"
		if m.SurplusPart > 0 {
			text += " and " + words.Figure(d.Resource, m.SurplusPart) + " of the " + words.Figure(d.Resource, d.Surplus) + " that all quotas leave"
		}
		text += ", in all " + words.Amount(d.Resource, m.FairShare) + ". "
		switch m.End {
		case fairshare.Satisfied:
			text += "That is all that it asks and may have."
		case fairshare.NoSurplus:
			text += "Beyond the quotas nothing is left."
		case fairshare.NoWeight:
			text += "Beyond its quota it has a weight of 0, and so no part."
		case fairshare.Outbid:
			text += "The rest of what is left goes to others by their weights."
		}
	}
	return text
}
