package trace

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
)

// A Site is what a log of jobs does not say of its cluster.
type Site struct {
	// Nodes is how many nodes there are, of PerNode GPUs each; 0 are 8 GPUs.
	Nodes, PerNode int
	// List is the nodes in a file that is published with the log, in place of Nodes;
	// each reader tells which. Nil is none.
	List io.Reader
	// Tenant is the column whose values are the queues; each reader has one of its own
	// for the empty one.
	Tenant string
}

// nodeDevices is how many GPUs a node of a site has at most.
const nodeDevices = 64

// A log is one as far as it is read: jobs of tenants on a site.
type log struct {
	what    string
	in      *sim.Input
	perNode int
	gpus    int // of all nodes
	known   map[string]bool
	shapes  map[int][]allot.PodSet
}

func (s *Site) log(what string, list func(*log, io.Reader) error) (*log, error) {
	l := &log{what: what, in: &sim.Input{}, perNode: s.PerNode, known: make(map[string]bool), shapes: make(map[int][]allot.PodSet)}
	if l.perNode == 0 {
		l.perNode = nodeGPUs
	}
	if s.List != nil && list != nil {
		if err := list(l, s.List); err != nil {
			return nil, err
		}
		if l.gpus == 0 {
			return nil, none(l.in, fmt.Errorf("%s: no node has a GPU", what))
		}
		return l, nil
	}
	if l.perNode < 1 || l.perNode > nodeDevices {
		return nil, fmt.Errorf("%s: nodes of %d GPUs make no cluster", what, l.perNode)
	}
	if err := checkNodes(s.Nodes, l.perNode); err != nil {
		return nil, err
	}
	l.in.Cluster.Nodes, l.gpus = Nodes(s.Nodes, l.perNode), s.Nodes*l.perNode
	return l, nil
}

// node takes in a node of a list.
func (l *log) node(r *row, n allot.Node) {
	if len(l.in.Cluster.Nodes) >= maxNodes {
		r.leaveOut("nodes", fmt.Sprintf("there are more than %d nodes", maxNodes))
	}
	if r.err != nil {
		return
	}
	l.in.Cluster.Nodes, l.gpus = append(l.in.Cluster.Nodes, n), l.gpus+len(n.Devices)
	l.perNode = max(l.perNode, len(n.Devices))
}

// queue makes a queue of a tenant, without a quota, when it is first met.
func (l *log) queue(tenant string) string {
	tenant = strings.Clone(tenant)
	if tenant != "" && !l.known[tenant] {
		l.known[tenant] = true
		l.in.Cluster.Queues = append(l.in.Cluster.Queues, allot.Queue{ID: tenant})
	}
	return tenant
}

// gang is a job of so many GPUs on so many nodes, as far as that is even; else, and
// where the nodes are not known (0), whole nodes and the rest.
func (l *log) gang(gpus, nodes int) []allot.PodSet {
	if nodes > 1 && gpus%nodes == 0 && gpus/nodes <= l.perNode {
		return []allot.PodSet{{Count: nodes, Request: allot.Request{GPU: allot.GPURequest{Count: gpus / nodes}}}}
	}
	if l.shapes[gpus] == nil {
		l.shapes[gpus] = gang(gpus, l.perNode)
	}
	return l.shapes[gpus]
}

// ask finds fault with what no job on the site can ask, and what no run is.
func (l *log) ask(r *row, gpus int, ran time.Duration) bool {
	switch {
	case gpus == 0:
		r.leaveOut("no GPU", "it asks no GPU")
	case gpus > l.gpus:
		r.leaveOut("too large", fmt.Sprintf("it asks %d GPUs, of %d", gpus, l.gpus))
	case ran <= 0:
		r.leaveOut("never ran", "it ran for no time")
	}
	return r.err == nil
}

// done is the input with the jobs in line and the queues by name.
func (l *log) done(err error) (*sim.Input, error) {
	slices.SortFunc(l.in.Cluster.Queues, func(a, b allot.Queue) int { return strings.Compare(a.ID, b.ID) })
	if err != nil {
		return nil, err
	}
	lineUp(l.in, true)
	return l.in, nil
}

// zones are those that logs name, with how far they are ahead of UTC.
var zones = []struct {
	name  string
	ahead time.Duration
}{{" PST", -8 * time.Hour}, {" PDT", -7 * time.Hour}}

// instants are the forms in which logs write an instant. Those without a zone are read
// as UTC: as if clocks were never put forward or back.
var instants = []string{time.DateTime, "2006-01-02 15:04:05-07:00", time.RFC3339, "2006-01-02T15:04:05"}

// dawn is the earliest instant that is read.
var dawn = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// instantOf reads an instant as the time since dawn, and false where there is none.
func instantOf(text string) (at time.Duration, ok bool) {
	var ahead time.Duration
	for _, zone := range zones {
		if bare, named := strings.CutSuffix(text, zone.name); named {
			text, ahead = bare, zone.ahead
		}
	}
	for _, form := range instants {
		t, err := time.Parse(form, text)
		if t = t.Add(-ahead); err == nil && !t.Before(dawn) && t.Sub(dawn) <= maxTime {
			return t.Sub(dawn), true
		}
	}
	if seconds, err := timeOf(text, time.Second); err == nil { // since 1970
		seconds -= time.Duration(dawn.Unix()) * time.Second
		return seconds, seconds >= 0
	}
	return 0, false
}

// instant is a field that must be one.
func (r *row) instant(column string) time.Duration {
	at, ok := instantOf(r.text(column))
	if !ok {
		r.fail(column, "must be a time such as 2020-04-01 00:00:00")
	}
	return at
}

// Tenants reads queues with their quotas from a small CSV file, with the columns
// tenant, and quota in GPUs, and as far as they are there parent, limit and weight, and no
// others; an empty field is none. Parents may come after their children. Where rows are not as they
// should be, or have a parent that is not there, the error is a [*sim.BadInputError] that lists them,
// and the queues are those of the others.
func Tenants(content io.Reader) ([]allot.Queue, error) {
	in, queues, lines := &sim.Input{}, []allot.Queue(nil), []int(nil)
	known := make(map[string]bool)
	amount := func(r *row, column string) quota.Bound {
		if r.text(column) == "" {
			return quota.Bound{}
		}
		if gpus, ok := decimal(strings.TrimSpace(r.text(column))); ok {
			gpus.Mul(gpus, big.NewRat(1000, 1))
			if gpus.IsInt() && gpus.Sign() >= 0 && gpus.Cmp(big.NewRat(maxGPUs*1000, 1)) <= 0 {
				return quota.Of(gpus.Num().Int64())
			}
		}
		r.fail(column, "must be a number of GPUs from 0 to %d, with three digits behind the point at most", maxGPUs)
		return quota.Bound{}
	}
	small := form{comma: ',', beside: []string{"parent", "limit", "weight"}}
	err := small.readBeside("tenants", "tenant", content, in, []string{"tenant", "quota"}, func(r *row) {
		q := allot.Queue{ID: strings.Clone(r.text("tenant")), Parent: strings.Clone(r.text("parent"))}
		if q.ID == "" || known[q.ID] {
			r.fail("tenant", "must be a name, each once")
		}
		q.Resources = []allot.QueueResource{{
			Resource: allot.GPU, Quota: amount(r, "quota"), Limit: amount(r, "limit"), Weight: amount(r, "weight"),
		}}
		if r.err == nil {
			known[q.ID] = true
			queues, lines = append(queues, q), append(lines, r.line)
		}
	})
	if err != nil {
		return nil, err
	}
	var stay []allot.Queue
	orphans := orphansOf(queues, known)
	for i, q := range queues {
		if !orphans[i] {
			stay = append(stay, q)
		} else if err := leave(in, sim.LeftOut{Line: lines[i], Kind: "tenant", Why: fmt.Sprintf("tenants: %q has the parent %q, which is not there", q.ID, q.Parent)}); err != nil {
			return nil, err
		}
	}
	queues = stay
	switch {
	case len(in.LeftOut) > 0:
		return queues, &sim.BadInputError{List: in.LeftOut}
	case len(queues) == 0:
		return nil, fmt.Errorf("tenants: there is none")
	}
	return queues, nil
}

// orphansOf are the queues, by position, with a parent that is not known, and those below them.
func orphansOf(queues []allot.Queue, known map[string]bool) map[int]bool {
	orphans, children := make(map[int]bool), make(map[string][]int)
	var next []int
	for i := range queues {
		parent := queues[i].Parent
		children[parent] = append(children[parent], i)
		if parent != "" && !known[parent] {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[0]
		orphans[i], next = true, append(next[1:], children[queues[i].ID]...)
	}
	return orphans
}

// WithTenants is the input with those queues in place of its own. Jobs of tenants that
// are not among them are left out. Of a nil input it is nil.
func WithTenants(in *sim.Input, queues []allot.Queue) *sim.Input {
	if in == nil {
		return nil
	}
	out := *in
	out.Cluster.Queues, out.Jobs, out.LeftOut = queues, nil, slices.Clone(in.LeftOut)
	known := make(map[string]bool, len(queues))
	for i := range queues {
		known[queues[i].ID] = true
	}
	for i := range in.Jobs {
		if w := &in.Jobs[i].Workload; known[w.Queue] {
			out.Jobs = append(out.Jobs, in.Jobs[i])
		} else {
			out.LeftOut = append(out.LeftOut, in.Jobs[i].LeftOut("tenant", fmt.Sprintf("its tenant %q is not among those that are given", w.Queue)))
		}
	}
	return &out
}
