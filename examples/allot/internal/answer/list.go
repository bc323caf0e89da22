package answer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// A ListRow is a workload in a list.
type ListRow struct {
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Status is what the plan makes of it, as explain says it.
	Status   string `json:"status"`
	Class    string `json:"class,omitzero"`
	Priority int32  `json:"priority"`
	Asks     string `json:"asks"`
	// Holds counts the tasks that have a place, Tasks all.
	Holds int `json:"holds"`
	Tasks int `json:"tasks"`
	// Since is when it was submitted.
	Since time.Time `json:"since,omitzero"`
	// Turn is its place in its queue among those that wait, from 1; 0 is none.
	Turn int `json:"turn,omitzero"`
	// Starts is when one that waits is expected to start; zero is not known, or never.
	Starts time.Time `json:"starts,omitzero"`
	Code   string    `json:"code,omitzero"`
	Reason string    `json:"reason,omitzero"`

	// size is how many thousandths of GPUs it asks.
	size int64
}

// A ListFilter says which workloads are listed and how.
type ListFilter struct {
	// Status, Queue, Code and Text keep those that are so; empty keeps all. A queue keeps
	// also what is in queues below it that begin with its name and a slash; Text is a
	// part of the ID.
	Status, Queue, Code, Text string
	// Sort is the key: one of [SortKeys]; empty is the first of them.
	Sort string
	// Forecast is of how many of a pool it is told when they would start; 0 of none. Where the
	// state says nothing of how long work takes it is not asked for.
	Forecast int
}

// Statuses are what becomes of workloads, in the order in which they are listed.
func Statuses() []string { return statusOrder }

// Codes are the codes of the reasons for which workloads wait.
func Codes() (codes []string) {
	for c := allot.ImpossibleNode; ; c++ {
		text, err := c.MarshalText()
		if err != nil {
			return codes
		}
		codes = append(codes, string(text))
	}
}

// SortKeys are what a list can be sorted by.
func SortKeys() []string {
	return []string{"status", "queue", "priority", "age", "size", "start", "id"}
}

// List answers what there is, and what becomes of each.
func List(ctx context.Context, s *allot.State, d *allot.Decision, plan *allot.Plan, filter ListFilter) (output.Answer, error) {
	turns, err := explain.Turns(ctx, d)
	if err != nil {
		return nil, err
	}
	inQueue := make(map[string]int, len(turns))
	for i := range turns {
		inQueue[turns[i].Workload] = turns[i].InQueue
	}
	did := make(map[string]allot.ActionKind)
	for i := range plan.Actions {
		a := &plan.Actions[i]
		if _, known := did[a.Workload]; !known || a.Kind == allot.Evict {
			did[a.Workload] = a.Kind
		}
	}
	waits := make(map[string]*allot.Pending, len(plan.Pending))
	for i := range plan.Pending {
		waits[plan.Pending[i].Workload] = &plan.Pending[i]
	}
	a := &listAnswer{now: s.Now, filter: filter, forecast: filter.Forecast > 0 && len(plan.Pending) > 0 && saysDurations(s)}
	starts := make(map[string]time.Time)
	if a.forecast {
		list, err := explain.Forecasts(ctx, d, filter.Forecast)
		if err != nil {
			return nil, err
		}
		for i := range list {
			starts[list[i].Workload] = list[i].Start
		}
	}
	policies := policiesOf(s)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		row := ListRow{Workload: w.ID, Queue: w.Queue, Class: w.Class, Asks: Asks(w), Since: w.Submitted, Turn: inQueue[w.ID], Starts: starts[w.ID], size: asksGPU(w)}
		policy := policies(w)
		if row.Priority, _ = policy.Standing(*w); policy.LowerFirst {
			row.Priority = -row.Priority
		}
		for j := range w.PodSets {
			row.Tasks += w.PodSets[j].Count
		}
		for j := range w.Tasks {
			if w.Tasks[j].Phase != allot.Terminating {
				row.Holds++
			}
		}
		kind, acted := did[w.ID]
		p := waits[w.ID]
		row.Status = statusText(w, kind, acted, p != nil)
		if p != nil {
			row.Code, row.Reason = p.Reasons[0].Code.String(), p.Reasons[0].String()
		}
		a.total++
		if filter.keeps(&row) {
			a.Rows = append(a.Rows, row)
		}
	}
	a.sort()
	return a, nil
}

// policiesOf finds the policy that a workload is under.
func policiesOf(s *allot.State) func(*allot.Workload) *allot.Policy {
	pools := make(map[string]*allot.Policy)
	for i := range s.Pools {
		pools[s.Pools[i].ID] = &s.Pools[i].Policy
	}
	queues := make(map[string]string)
	for i := range s.Queues {
		queues[s.Queues[i].ID] = s.Queues[i].Pool
	}
	return func(w *allot.Workload) *allot.Policy {
		for _, id := range []string{w.Pool, queues[w.Queue]} {
			if p := pools[id]; p != nil {
				return p
			}
		}
		if len(s.Pools) == 1 {
			return &s.Pools[0].Policy
		}
		return &allot.Policy{}
	}
}

// statusText is what becomes of a workload, in one word.
func statusText(w *allot.Workload, kind allot.ActionKind, acted, waits bool) string {
	switch {
	case w.Ending:
		return "ends"
	case acted && kind == allot.Evict:
		return "evicted"
	case waits:
		return "waits"
	case acted:
		return map[allot.ActionKind]string{
			allot.Start: "starts", allot.Resize: "grows", allot.Displace: "displaced", allot.Unclaim: "unclaims", allot.Shrink: "shrinks", allot.Move: "moves",
		}[kind]
	}
	return "runs"
}

func (f *ListFilter) keeps(r *ListRow) bool {
	return (f.Status == "" || r.Status == f.Status) && (f.Code == "" || r.Code == f.Code) &&
		(f.Queue == "" || r.Queue == f.Queue || strings.HasPrefix(r.Queue, f.Queue+"/")) && strings.Contains(r.Workload, f.Text)
}

type listAnswer struct {
	now      time.Time
	filter   ListFilter
	forecast bool
	total    int
	Rows     []ListRow
}

// saysDurations says whether the state says of any work how long it takes (B1).
func saysDurations(s *allot.State) bool {
	none := allot.Durations{}
	return slices.ContainsFunc(s.Pools, func(p allot.Pool) bool { return p.Policy.Durations != none }) ||
		slices.ContainsFunc(s.Queues, func(q allot.Queue) bool { return q.Durations != none }) ||
		slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool {
			return w.Duration != (quota.Bound{}) || w.TimeLimit != (quota.Bound{}) || w.FixedWork != 0
		})
}

func (a *listAnswer) Data() any { return a.Rows }

// statusOrder is which statuses people look at first.
var statusOrder = []string{"evicted", "displaced", "unclaims", "waits", "starts", "moves", "shrinks", "grows", "ends", "runs"}

func (a *listAnswer) sort() {
	by := map[string]func(x, y *ListRow) int{
		"status": func(x, y *ListRow) int {
			return cmp.Compare(slices.Index(statusOrder, x.Status), slices.Index(statusOrder, y.Status))
		},
		"queue":    func(x, y *ListRow) int { return strings.Compare(x.Queue, y.Queue) },
		"priority": func(x, y *ListRow) int { return cmp.Compare(y.Priority, x.Priority) },
		"age":      func(x, y *ListRow) int { return x.Since.Compare(y.Since) },
		"size":     func(x, y *ListRow) int { return cmp.Compare(y.size, x.size) },
		"start":    func(x, y *ListRow) int { return compareStarts(x.Starts, y.Starts) },
		"id":       func(x, y *ListRow) int { return strings.Compare(x.Workload, y.Workload) },
	}[cmp.Or(a.filter.Sort, "status")]
	slices.SortStableFunc(a.Rows, func(x, y ListRow) int {
		return cmp.Or(by(&x, &y), strings.Compare(x.Queue, y.Queue), cmp.Compare(x.Turn, y.Turn), x.Since.Compare(y.Since), strings.Compare(x.Workload, y.Workload))
	})
}

// compareStarts puts the earlier first, and what is not known last.
func compareStarts(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return map[bool]int{true: 1, false: -1}[a.IsZero()]
	}
	return a.Compare(b)
}

// Title counts them by status: "3 wait, 2 start, 40 run".
func (a *listAnswer) title() string {
	counts := make(map[string]int)
	for i := range a.Rows {
		counts[a.Rows[i].Status]++
	}
	several := map[string]string{
		"evicted": "are evicted", "displaced": "are displaced", "unclaims": "give up claims", "waits": "wait", "starts": "start", "moves": "move",
		"shrinks": "shrink", "grows": "grow", "ends": "end", "runs": "run",
	}
	var parts []string
	for _, status := range statusOrder {
		if n := counts[status]; n > 0 {
			word := several[status]
			if n == 1 {
				word = strings.Replace(strings.Replace(status, "evicted", "is evicted", 1), "displaced", "is displaced", 1)
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	if len(parts) == 0 {
		return "nothing of " + prose.Count(a.total, "workload")
	}
	return strings.Join(parts, ", ")
}

func (a *listAnswer) Write(p *output.Page) {
	p.Line(output.Bold, a.title())
	if len(a.Rows) == 0 {
		return
	}
	heads := []output.Cell{
		output.Words("workload"), output.Words("queue"), output.Words("state"), output.Words("class"), output.Number("priority"),
		output.Number("age"), output.Number("tasks"), output.Number("turn"),
	}
	if a.forecast {
		heads = append(heads, output.Number("starts in"))
	}
	rows := [][]output.Cell{append(heads, output.Words("asks"), output.Words("first reason"))}
	shown := told(p, a.Rows, mostTold+5)
	for i := range shown {
		r := &shown[i]
		reason, turn := r.Code, "-"
		if p.Wide {
			reason = r.Reason
		}
		if r.Turn > 0 {
			turn = strconv.Itoa(r.Turn)
		}
		row := []output.Cell{
			output.Words(r.Workload), output.Words(words.QueueName(r.Queue)), {Text: r.Status, Style: statusStyle(r.Status)},
			output.Words(prose.Dashed(r.Class != "", r.Class)), output.Number(strconv.Itoa(int(r.Priority))), output.Number(words.Age(a.now, r.Since)),
			output.Number(strconv.Itoa(r.Holds) + "/" + strconv.Itoa(r.Tasks)), output.Number(turn),
		}
		if a.forecast {
			row = append(row, output.Number(words.Age(r.Starts, a.now)))
		}
		rows = append(rows, append(row, output.Words(r.Asks), output.Words(reason)))
	}
	p.Table("", rows)
	tellLeft(p, "", len(a.Rows)-len(shown), ", of which -status, -queue, -reason and -match choose")
}

func statusStyle(status string) output.Style {
	switch status {
	case "evicted", "displaced", "unclaims":
		return output.Red
	case "waits":
		return output.Yellow
	case "starts", "grows":
		return output.Green
	}
	return output.Plain
}
