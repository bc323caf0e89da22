package answer

import (
	"context"
	"strconv"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// Order answers in which order everything waits, and what the order goes by.
func Order(ctx context.Context, d *allot.Decision, plan *allot.Plan) (output.Answer, error) {
	turns, err := explain.Turns(ctx, d)
	if err != nil {
		return nil, err
	}
	a := &orderAnswer{now: d.Snapshot().Now()}
	shares := make(map[[2]string]*allot.Share)
	for i := range plan.Shares {
		s := &plan.Shares[i]
		if s.Resource == allot.GPU && s.Class == "" {
			shares[[2]string{s.Pool, s.Queue}] = s
		}
	}
	place := make(map[string]int)
	for i := range turns {
		t := &turns[i]
		w, _ := d.Snapshot().Workload(t.Workload)
		place[t.Pool]++
		row := OrderRow{Turn: *t, Place: place[t.Pool], Class: w.Class, Asks: Asks(&w), asks: asksGPU(&w)}
		if s := shares[[2]string{t.Pool, t.Queue}]; s != nil {
			row.Used, row.FairShare, row.Divided = s.Used, s.FairShare, s.Divided
			row.Quota = s.Quota.Amount()
		}
		a.Rows = append(a.Rows, row)
	}
	return a, nil
}

// asksGPU is how many thousandths of GPUs all tasks of the own form ask, as far as they are
// told in devices.
func asksGPU(w *allot.Workload) int64 {
	total := int64(0)
	for i := range w.PodSets {
		g := &w.PodSets[i].Request.GPU
		each := int64(1000)
		if g.Milli > 0 {
			each = g.Milli
		}
		if g.Count == 0 && g.Milli == 0 {
			continue
		}
		total += each * int64(max(g.Count, 1)) * int64(w.PodSets[i].Count)
	}
	return total
}

// An OrderRow is a workload that waits, with what its place goes by.
type OrderRow struct {
	explain.Turn
	// Place is that in the pool, from 1.
	Place int    `json:"place"`
	Class string `json:"class,omitzero"`
	Asks  string `json:"asks"`
	// Used, Quota and FairShare are the queue's of GPUs, where they are divided.
	Used      int64 `json:"used"`
	Quota     int64 `json:"quota"`
	FairShare int64 `json:"fairShare"`
	Divided   bool  `json:"divided"`

	asks int64
}

type orderAnswer struct {
	now  time.Time
	Rows []OrderRow
}

func (a *orderAnswer) Data() any { return a.Rows }

func (a *orderAnswer) Write(p *output.Page) {
	if len(a.Rows) == 0 {
		p.Line(output.Bold, "nothing waits for a turn")
		return
	}
	first := a.Rows[0]
	p.Line(output.Bold, prose.Count(len(a.Rows), "workload")+" wait for a turn; the next is "+words.WorkName(first.Queue, first.Workload))
	head := []output.Cell{
		output.Number("turn"), output.Words("workload"), output.Number("in queue"), output.Words("class"), output.Number("priority"),
		output.Number("age"), output.Number("queue uses"), output.Number("of share"), output.Number("saturation"), output.Words("with it the queue is"),
	}
	if p.Wide {
		head = append(head, output.Words("asks"))
	}
	rows := [][]output.Cell{head}
	shown := told(p, a.Rows, mostTold)
	pool := first.Pool
	for i := range shown {
		r := &shown[i]
		uses, share, saturation := "-", "-", "-"
		if r.Divided {
			uses, share = words.Figure(allot.GPU, r.Used), words.Figure(allot.GPU, r.FairShare)
			saturation = words.Saturation(r.Used, r.FairShare)
		}
		row := []output.Cell{
			output.Number(strconv.Itoa(r.Place)), output.Words(words.WorkName(r.Queue, r.Workload)), output.Number(strconv.Itoa(r.InQueue)),
			output.Words(prose.Dashed(r.Class != "", r.Class)), output.Number(strconv.Itoa(int(r.Priority))), output.Number(words.Age(a.now, r.Submitted)),
			output.Number(uses), output.Number(share), output.Number(saturation), output.Words(r.stands()),
		}
		if p.Wide {
			row = append(row, output.Words(r.Asks))
		}
		if r.Pool != pool {
			pool = r.Pool
		}
		rows = append(rows, row)
	}
	p.Table("  ", rows)
	tellLeft(p, "  ", len(a.Rows)-len(shown), "")
	p.Line(output.Plain, "")
	p.Prose("", "", output.Faint, "Between queues: who stays within quota goes first, then who stays within the fair share, then "+
		"the rest; of these the queue that is least saturated, by what it uses of its share. Inside a queue: higher priority, then who waits longest.")
}

// stands says where the queue would be with the workload, of which the order between
// queues makes most (O2).
func (r *OrderRow) stands() string {
	switch with := r.Used + r.asks; {
	case !r.Divided:
		return "-"
	case with <= r.Quota:
		return "within quota"
	case with <= r.FairShare:
		return "within its share"
	}
	return "beyond its share"
}
