package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// A Picture is what page.html draws of a run: what there is beyond its summary. Its Observe
// is for [sim.Options.Observe], and at the end it wants to be closed. It stays small however
// long a run is: of the series it has up to 400 rows of the time in which jobs came and as
// many behind it, of waits up to 100 points a curve, and of places those that held the most
// GPU time.
type Picture struct {
	// End is that of the run, Came when its last job came, in seconds; Nodes are names, by
	// position.
	End    float64      `json:"end"`
	Came   float64      `json:"came"`
	Nodes  []string     `json:"nodes"`
	Rows   pictureRows  `json:"rows"`
	Queues []pictureOf  `json:"queues"`
	Waits  []waits      `json:"waits"`
	Places []held       `json:"places"`
	Jobs   []pictureJob `json:"jobs"`
	// Promises are places that were promised to jobs that waited.
	Promises []promised `json:"promises,omitempty"`
	// LeftOut is how many places are not told.
	LeftOut int `json:"leftOut"`

	nodes map[string]int
	// devices are how many each node has.
	devices []int
	open    map[string][]held
	vows    map[string][]promised
	quota   map[string][]quotaFrom
}

// A quotaFrom is the quota of a queue from an instant on, nil where it has none.
type quotaFrom struct {
	at   time.Duration
	gpus *float64
}

// The bounds of a picture.
const (
	pictureRowsMost, pictureWaitsMost = 400, 100
	picturePlacesMost, pictureJobs    = 3000, 60
)

// pictureRows is the series, column by column: times in seconds, and GPUs.
type pictureRows struct {
	At        []float64 `json:"at"`
	Usable    []float64 `json:"usable"`
	Allocated []float64 `json:"allocated"`
	Used      []float64 `json:"used"`
	Queued    []float64 `json:"queued"`
}

// A pictureOf is a queue over the rows. An entry of Quota is null where it has none, and one of
// Share where its GPUs are not divided.
type pictureOf struct {
	Name  string     `json:"name"`
	Quota []*float64 `json:"quota"`
	Held  []float64  `json:"held"`
	Share []*float64 `json:"share"`
}

// waits is the distribution of the waits of jobs of a size: so many seconds or less waited
// the part that the position in the list is of all. Open counts those that are unfinished.
type waits struct {
	Name    string    `json:"name"`
	Jobs    int       `json:"jobs"`
	Open    int       `json:"open"`
	Seconds []float64 `json:"seconds"`
}

// A held is a place that a job held on a node; Why is the code of the reason for which it
// was told to go, or the change that took it away, empty if it ended otherwise.
type held struct {
	Job  string  `json:"job"`
	Node int     `json:"node"`
	GPUs float64 `json:"gpus"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Why  string  `json:"why,omitzero"`
	task string
	// devices are those that it has of the node.
	devices []int
}

// A promised place is one that a job was promised from some time to another, of a node; At is
// when it was to start there.
type promised struct {
	Job  string  `json:"job"`
	Node int     `json:"node"`
	GPUs float64 `json:"gpus"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
	At   float64 `json:"at"`
}

// A pictureJob is one of the jobs that were evicted most, or waited longest.
type pictureJob struct {
	Job    string  `json:"job"`
	Queue  string  `json:"queue"`
	Submit float64 `json:"submit"`
	End    float64 `json:"end"`
	Open   bool    `json:"open,omitzero"`
}

// NewPicture begins a picture of a run on a cluster, that of the input.
func NewPicture(cluster *allot.State) *Picture {
	if cluster == nil {
		cluster = new(allot.State)
	}
	p := &Picture{nodes: make(map[string]int), open: make(map[string][]held), vows: make(map[string][]promised), quota: make(map[string][]quotaFrom)}
	for i := range cluster.Nodes {
		p.nodes[cluster.Nodes[i].ID] = i
		p.Nodes = append(p.Nodes, cluster.Nodes[i].ID)
		p.devices = append(p.devices, len(cluster.Nodes[i].Devices))
	}
	for i := range cluster.Queues {
		p.setQuota(&cluster.Queues[i], 0)
	}
	return p
}

// setQuota takes in what quota a queue has from an instant on.
func (p *Picture) setQuota(q *allot.Queue, at time.Duration) {
	from := quotaFrom{at: at}
	for _, r := range q.Resources {
		if r.Resource == allot.GPU && r.Class == "" && r.Quota.Given() && !r.Quota.IsUnlimited() {
			quota := inGPUs(r.Quota.Amount())
			from.gpus = &quota
		}
	}
	p.quota[q.ID] = append(p.quota[q.ID], from)
}

// quotaAt is the quota of a queue when all of an instant has happened.
func (p *Picture) quotaAt(queue string, at time.Duration) (gpus *float64) {
	for _, from := range p.quota[queue] {
		if from.at <= at {
			gpus = from.gpus
		}
	}
	return gpus
}

// taken is what the task of an event takes.
func taken(e *sim.Event, task int) float64 {
	if task >= len(e.GPUs) {
		return 0 // whoever made the event does not say
	}
	return inGPUs(e.GPUs[task])
}

func inGPUs(milli int64) float64 { return float64(milli) / 1000 }

// inSeconds is a time in seconds, to the millisecond.
func inSeconds(t time.Duration) float64 { return float64(t/time.Millisecond) / 1000 }

// Observe takes in an event.
func (p *Picture) Observe(e sim.Event) {
	switch e.Kind {
	case sim.EndEvent, sim.StopEvent:
		p.close(e.Job, e.At, "", nil)
		p.keep(e.Job, e.At)
	case sim.PromiseEvent:
		p.promise(e)
	case sim.ChangeEvent:
		if e.Change.Kind == sim.QueueSet {
			p.setQuota(e.Change.Queue, e.At)
			return
		}
		p.lose(e.Change, e.At)
	case sim.ActionEvent:
		p.act(e)
	}
}

// promise takes in what a job is promised.
func (p *Picture) promise(e sim.Event) {
	p.keep(e.Job, e.At)
	if e.Promise.Change == allot.PromiseWithdrawn {
		return
	}
	gpus := make(map[int]float64)
	var nodes []int // in the order of the tasks
	for k, t := range e.Promise.Promise.Tasks {
		if node, known := p.nodes[t.Node]; known && len(t.Devices) > 0 {
			if gpus[node] == 0 {
				nodes = append(nodes, node)
			}
			gpus[node] += taken(&e, k)
		}
	}
	if e.Promise.Promise.At.IsZero() { // it is not known (B8)
		return
	}
	at := inSeconds(e.Promise.Promise.At.Sub(sim.Epoch()))
	for _, node := range nodes {
		p.vows[e.Job] = append(p.vows[e.Job], promised{Job: e.Job, Node: node, GPUs: gpus[node], From: inSeconds(e.At), At: at})
	}
}

// keep ends what a job is promised.
func (p *Picture) keep(job string, at time.Duration) {
	for _, v := range p.vows[job] {
		if v.To = inSeconds(at); v.To > v.From {
			p.Promises = append(p.Promises, v)
		}
	}
	delete(p.vows, job)
	if len(p.Promises) > 4*picturePlacesMost {
		p.thinPromises()
	}
}

// thinPromises keeps those that stood longest, in the order of time.
func (p *Picture) thinPromises() {
	byTime := func(a, b promised) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), strings.Compare(a.Job, b.Job))
	}
	slices.SortFunc(p.Promises, func(a, b promised) int {
		return cmp.Or(cmp.Compare(b.To-b.From, a.To-a.From), byTime(a, b))
	})
	p.Promises = p.Promises[:min(len(p.Promises), picturePlacesMost)]
	slices.SortFunc(p.Promises, byTime)
}

func (p *Picture) act(e sim.Event) {
	a := e.Action
	if a.Kind == allot.Start {
		p.keep(e.Job, e.At)
	}
	switch a.Kind {
	case allot.Evict:
		p.close(e.Job, e.At, a.Reason.Code.String(), nil)
	case allot.Displace, allot.Shrink:
		p.close(e.Job, e.At, a.Reason.Code.String(), a.Tasks)
	case allot.Move:
		p.close(e.Job, e.At, a.Reason.Code.String(), a.From)
	}
	if e.Claimed || a.Kind != allot.Start && a.Kind != allot.Resize && a.Kind != allot.Move {
		return
	}
	p.close(e.Job, e.At, "", a.Tasks)
	for k, t := range a.Tasks {
		if node, known := p.nodes[t.Node]; known {
			p.open[e.Job] = append(p.open[e.Job], held{Job: e.Job, Node: node, GPUs: taken(&e, k), From: inSeconds(e.At), task: taskOf(t), devices: slices.Clone(t.Devices)})
		}
	}
}

func taskOf(t allot.Placement) string { return fmt.Sprint(t.PodSet, "/", t.Index) }

// close ends places of a job, all if tasks is nil.
func (p *Picture) close(job string, at time.Duration, why string, tasks []allot.Placement) {
	var left []held
	for _, h := range p.open[job] {
		if tasks != nil && !slices.ContainsFunc(tasks, func(t allot.Placement) bool { return taskOf(t) == h.task }) {
			left = append(left, h)
			continue
		}
		p.place(h, at, why)
	}
	if p.open[job] = left; left == nil {
		delete(p.open, job)
	}
}

// lose ends the places that a change of a node takes away: whoever had them may wait long until it
// runs again.
func (p *Picture) lose(c *sim.Change, at time.Duration) {
	node, known := p.nodes[c.Node]
	if !known {
		return
	}
	for job, list := range p.open { // order cannot matter: places are put in order at the end
		p.open[job] = slices.DeleteFunc(list, func(h held) bool {
			lost := h.Node == node && takes(c, p.devices[node], func(device int) bool { return slices.Contains(h.devices, device) })
			if lost {
				p.place(h, at, c.Kind.String())
			}
			return lost
		})
	}
}

// takes says of a change of a node, which has so many devices, whether it takes away a place there that
// has some of them.
func takes(c *sim.Change, devices int, has func(device int) bool) bool {
	switch {
	case c.Kind == sim.NodeLost, c.Kind == sim.TaskFails && devices == 0:
		return true
	case c.Kind == sim.DeviceLost, c.Kind == sim.TaskFails:
		return devices > 0 && has(c.Device)
	}
	return false
}

// place takes in a place that has ended.
func (p *Picture) place(h held, at time.Duration, why string) {
	if h.To, h.Why = inSeconds(at), why; h.To > h.From {
		p.Places = append(p.Places, h)
	}
	if len(p.Places) > 4*picturePlacesMost {
		p.thin()
	}
}

// thin keeps the places that held the most.
func (p *Picture) thin() {
	weight := func(h held) float64 { return (h.To - h.From) * max(h.GPUs, 0.1) }
	slices.SortFunc(p.Places, func(a, b held) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), strings.Compare(a.Job, b.Job), strings.Compare(a.task, b.task))
	})
	if more := len(p.Places) - picturePlacesMost; more > 0 {
		p.LeftOut += more
		p.Places = p.Places[:picturePlacesMost]
	}
}

// Close completes the picture with what came of the run; nil adds nothing to it.
func (p *Picture) Close(r *sim.Result) {
	if r == nil {
		return
	}
	for job := range p.open { // order cannot matter, as above
		p.close(job, r.End, "", nil)
	}
	for job := range p.vows { // order cannot matter: promises are put in order at the end
		p.keep(job, r.End)
	}
	p.thinPromises()
	p.thin()
	slices.SortFunc(p.Places, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), strings.Compare(a.Job, b.Job), strings.Compare(a.task, b.task))
	})
	p.End, p.Came = inSeconds(r.End), inSeconds(min(r.To, r.End))
	p.series(r)
	steady := r.Steady()
	for size, name := range sizeNames {
		w := waits{Name: name}
		var list []time.Duration
		for _, j := range steady {
			if sizeClass(j.GPUs) == size && j.Outcome != sim.NotSubmitted {
				list = append(list, j.Pending)
				if j.Outcome == sim.Unfinished {
					w.Open++
				}
			}
		}
		slices.Sort(list)
		w.Jobs = len(list)
		for k := range min(len(list), pictureWaitsMost) {
			n := min(len(list), pictureWaitsMost)
			w.Seconds = append(w.Seconds, inSeconds(list[(k+1)*len(list)/n-1]))
		}
		if w.Jobs > 0 {
			p.Waits = append(p.Waits, w)
		}
	}
	p.worst(r)
}

// series takes in rows, as many as there is room for: a few days in which jobs came would be
// nothing to see of the weeks that the last of them run on.
func (p *Picture) series(r *sim.Result) {
	for i := range r.Queues {
		p.Queues = append(p.Queues, pictureOf{Name: r.Queues[i].ID})
	}
	behind, _ := slices.BinarySearchFunc(r.Rows, r.To+1, func(row sim.Row, at time.Duration) int { return cmp.Compare(row.At, at) })
	p.rows(r.Rows[:behind])
	p.rows(r.Rows[behind:])
}

// rows takes in each of so many rows that there are no more than a part of the series has.
func (p *Picture) rows(rows []sim.Row) {
	step := max(1, (len(rows)+pictureRowsMost-1)/pictureRowsMost)
	for i := 0; i < len(rows); i += step {
		row := &rows[i]
		p.Rows.At = append(p.Rows.At, inSeconds(row.At))
		p.Rows.Usable = append(p.Rows.Usable, inGPUs(row.Usable))
		p.Rows.Allocated = append(p.Rows.Allocated, inGPUs(row.Allocated))
		p.Rows.Used = append(p.Rows.Used, inGPUs(row.Used))
		p.Rows.Queued = append(p.Rows.Queued, float64(row.Queued))
		for k := range p.Queues {
			q := &p.Queues[k]
			q.Held = append(q.Held, inGPUs(row.Queues[k].Held))
			q.Quota = append(q.Quota, p.quotaAt(q.Name, row.At))
			var share *float64
			if row.Queues[k].Divided {
				gpus := inGPUs(row.Queues[k].FairShare)
				share = &gpus
			}
			q.Share = append(q.Share, share)
		}
	}
}

// worst takes in the jobs that were evicted most often, and of those that were as often
// the ones that waited longest.
func (p *Picture) worst(r *sim.Result) {
	var jobs []*sim.JobResult
	for i := range r.Jobs {
		if r.Jobs[i].Outcome != sim.NotSubmitted {
			jobs = append(jobs, &r.Jobs[i])
		}
	}
	slices.SortStableFunc(jobs, func(a, b *sim.JobResult) int {
		return cmp.Or(cmp.Compare(b.Evictions, a.Evictions), cmp.Compare(b.Pending, a.Pending))
	})
	for _, j := range jobs[:min(len(jobs), pictureJobs)] {
		out := pictureJob{Job: j.Workload.ID, Queue: j.Workload.Queue, Submit: inSeconds(j.Submit), End: inSeconds(j.End), Open: j.Outcome == sim.Unfinished}
		if out.Open {
			out.End = p.End
		}
		p.Jobs = append(p.Jobs, out)
	}
}

//go:embed page.html
var page string

// pageMark stands in the page where its data belong.
const pageMark = "/*DATA*/null"

// WritePage writes page.html: one file without any other, and without a network, that
// draws a sweep and the pictures of its runs, in their order; nil is that a run has none.
func WritePage(w io.Writer, title string, s *Sweep, pictures []json.RawMessage) error {
	if s == nil {
		return errNothing
	}
	if len(pictures) != len(s.Runs) {
		return errors.New("report: there must be a picture, or nil, for each run")
	}
	data, err := json.Marshal(map[string]any{"title": title, "sweep": s, "pictures": pictures})
	if err != nil {
		return err
	}
	before, after, _ := strings.Cut(page, pageMark)
	for _, part := range []string{before, string(data), after} {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}
