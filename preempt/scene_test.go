package preempt_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A scene is what an Evaluator is told of a pool, and one preemptor, written as text:
//
//	nodes 4 4            GPUs of each node; cpus 8 8 gives them a second resource
//	pool spare margin=2  what the policy says: see readPool
//	queue d quota=4      quota, share, lq, lf and limit in GPUs, or gpus,cpus;
//	queue d/q quota=2    what is absent: quota 0, share = quota, lq = quota,
//	                     lf = the larger of lq and share, limit none
//	run d/q/x gpu=1      a unit; its tasks stand on the first node with room, or
//	run d/q/y gpu=1 tasks=2 on=0,1
//	wait d/q/b gpu=2     the preemptor
//
// Entitlements may be joined by |. What the scene says of queues and units is the whole
// input of package preempt: nothing is divided and no workload is known.
type scene struct {
	room       *preempt.Evaluator
	preemptor  *preempt.Preemptor
	index      *placement.Index
	tree       *quota.Tree
	config     preempt.Config
	queues     []string // paths
	bounds     []quota.Queue
	nodes      []placement.Node
	works      []string // names in the order of their IDs
	units      []preempt.Unit
	requests   []placement.Request // by unit
	lost       []int64             // by unit
	minRunning []int64             // by owner, negated
	charges    []quota.Amounts     // of the units so far: those that are charged the same share it
	request    placement.Request   // of one task of the preemptor
	resources  int
}

// A line is one line of a scene: its words, of which each is used once.
type line struct {
	verb  string
	words []string
	said  map[string]string
}

func readLines(text string) (lines []line) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '|' }) {
		fields := strings.Fields(part)
		if len(fields) == 0 {
			continue
		}
		l := line{verb: fields[0], said: make(map[string]string)}
		for _, word := range fields[1:] {
			if key, value, ok := strings.Cut(word, "="); ok {
				l.said[key] = value
			} else {
				l.words = append(l.words, word)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// word says whether a word stands in the line, and uses it.
func (l *line) word(word string) bool {
	at := slices.Index(l.words, word)
	if at >= 0 {
		l.words = slices.Delete(l.words, at, at+1)
	}
	return at >= 0
}

// numbers are those behind a key, in thousandths of what is written where milli.
func (l *line) numbers(key string, milli bool) (out []int64) {
	text, given := l.said[key]
	delete(l.said, key)
	if !given {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		value, err := strconv.ParseFloat(part, 64)
		if err != nil {
			panic(fmt.Sprintf("%s=%s: %v", key, text, err))
		}
		if milli {
			value *= 1000
		}
		out = append(out, int64(math.Round(value)))
	}
	return out
}

func (l *line) number(key string, otherwise int64) int64 {
	if n := l.numbers(key, false); n != nil {
		return n[0]
	}
	return otherwise
}

// used panics where a word of the line meant nothing.
func (l *line) used() {
	if len(l.words)+len(l.said) > 0 {
		panic(fmt.Sprintf("%s: %v %v", l.verb, l.words, l.said))
	}
}

// newScene reads a scene. A text that makes no sense is a mistake of the test.
func newScene(text string) *scene {
	s := &scene{resources: 1}
	s.config = preempt.Config{Now: 1000, MarginMilli: 1000, MaxMovedPercent: 200, Steps: 100_000, Local: !strings.Contains(text, "limit=")}
	lines := readLines(text)
	for i := range lines {
		switch l := &lines[i]; l.verb {
		case "cpus":
			s.resources = 2
		case "run", "wait":
			name := l.words[0][strings.LastIndex(l.words[0], "/")+1:]
			name, _, _ = strings.Cut(name, "+")
			if !slices.Contains(s.works, name) {
				s.works = append(s.works, name)
			}
		}
	}
	slices.Sort(s.works)
	for i := range lines {
		s.readPool(&lines[i])
	}
	s.build()
	for i := range lines {
		s.readWork(&lines[i])
	}
	return s
}

// readPool reads nodes, policy and queues.
func (s *scene) readPool(l *line) {
	switch l.verb {
	case "nodes", "cpus":
		for at, word := range l.words {
			n, err := strconv.Atoi(word)
			if err != nil {
				panic(err)
			}
			if l.verb == "cpus" {
				s.nodes[at].Capacity = []int64{1000 * int64(n)}
				continue
			}
			s.nodes = append(s.nodes, placement.Node{Devices: make([]placement.Device, n),
				Slots: placement.NoCap, CPUOnlySlots: placement.NoCap})
		}
		l.words = nil
	case "pool":
		c := &s.config
		c.Now, c.MarginMilli = l.number("now", c.Now), 1000*l.number("margin", 1)
		c.MaxMovedPercent, c.Steps = l.number("moved", c.MaxMovedPercent), int(l.number("steps", int64(c.Steps)))
		c.Budgets = l.numbers("budgets", false)
		s.minRunning = slices.Clone(c.Budgets)
		if l.word("spare") {
			c.Straddle = preempt.Spare
		}
		if l.word("quota") {
			c.Reclaim = preempt.ByQuota
		}
		if l.word("priority") {
			c.Scope = preempt.WithinPool
		}
		if l.word("no-preemption") {
			c.Scope = preempt.NoPreemption
		}
	case "queue":
		s.readQueue(l)
	default:
		return
	}
	l.used()
}

func (s *scene) readQueue(l *line) {
	path := l.words[0]
	l.words = l.words[1:]
	parent := int32(-1)
	if at := strings.LastIndex(path, "/"); at >= 0 {
		if parent = int32(slices.Index(s.queues, path[:at])); parent < 0 {
			panic("no queue above " + path)
		}
	}
	s.queues = append(s.queues, path)
	pad := func(values, otherwise []int64) []int64 {
		if values == nil {
			values = otherwise
		}
		return append(slices.Clone(values), make([]int64, s.resources)...)[:s.resources]
	}
	quotas := pad(l.numbers("quota", true), nil)
	shares := pad(l.numbers("share", true), quotas)
	byQuota := pad(l.numbers("lq", true), quotas)
	most := slices.Clone(byQuota)
	for r := range most {
		most[r] = max(most[r], shares[r])
	}
	byShare := pad(l.numbers("lf", true), most)
	q := quota.Queue{Parent: parent}
	for r, limit := range pad(l.numbers("limit", true), nil) {
		b := quota.Bounds{Quota: quota.Of(quotas[r])}
		if limit > 0 {
			b.Limit = quota.Of(limit)
		}
		q.Bounds = append(q.Bounds, b)
	}
	s.bounds = append(s.bounds, q)
	c := &s.config
	c.Quotas, c.Shares = append(c.Quotas, quotas...), append(c.Shares, shares...)
	c.Entitlements.Guaranteed, c.Entitlements.Fair = append(c.Entitlements.Guaranteed, byQuota...), append(c.Entitlements.Fair, byShare...)
}

// build makes tree, index and room.
func (s *scene) build() {
	capacity := make([]int64, s.resources)
	for _, n := range s.nodes {
		capacity[0] += 1000 * int64(len(n.Devices))
		for r, amount := range n.Capacity {
			capacity[r+1] += amount
		}
	}
	var err error
	if s.tree, err = quota.New(quota.Config{Capacity: capacity, Queues: s.bounds}); err != nil {
		panic(err)
	}
	if s.index, err = placement.NewIndex(s.nodes, s.resources-1); err != nil {
		panic(err)
	}
	c := &s.config
	c.Tree, c.Index, c.Nodes = s.tree, s.index, len(s.nodes)
	c.Divided = slices.Repeat([]bool{true}, s.resources)
	c.Stays, c.Moves = s.stays, s.moves
	s.room = preempt.NewEvaluator(*c)
	s.room.Reserve(4)
}

// leafOf is the queue of a path that ends in a name, and the name.
func (s *scene) leafOf(path string) (leaf int32, name string) {
	at := strings.LastIndex(path, "/")
	if leaf = int32(slices.Index(s.queues, path[:at])); leaf < 0 {
		panic("no queue for " + path)
	}
	return leaf, path[at+1:]
}

// standingOf reads how well a unit stands; of the name x+2 it is step 2 of x.
func (s *scene) standingOf(l *line, name string) preempt.EvictionRank {
	work, step, _ := strings.Cut(name, "+")
	out := preempt.EvictionRank{
		NonPreemptible: l.word("fixed"), Priority: int32(l.number("priority", 0)),
		Admitted: l.number("admitted", 0), Submitted: l.number("submitted", 0),
		Work: int32(slices.Index(s.works, work)),
	}
	if step != "" {
		n, err := strconv.Atoi(step)
		if err != nil {
			panic(err)
		}
		out.Step = int32(n)
	}
	return out
}

// requestOf reads what a task asks.
func (s *scene) requestOf(l *line) placement.Request {
	r := placement.Request{Set: -1}
	if gpu := l.numbers("gpu", true); gpu != nil {
		if r.Devices, r.Milli = int32(gpu[0]/1000), 1000; gpu[0]%1000 > 0 {
			r.Devices, r.Milli = 1, gpu[0]%1000
		}
	}
	if cpu := l.numbers("cpu", true); cpu != nil {
		r.Amounts = quota.Amounts{{Resource: 0, Value: cpu[0]}}
	}
	return r
}

// chargeOf is what tasks that ask alike are charged.
func chargeOf(r placement.Request, tasks int64) (charge quota.Amounts) {
	if r.Devices > 0 {
		charge = append(charge, quota.Amount{Resource: 0, Value: tasks * int64(r.Devices) * r.Milli})
	}
	for _, a := range r.Amounts {
		charge = append(charge, quota.Amount{Resource: a.Resource + 1, Value: tasks * a.Value})
	}
	return charge
}

// shared is a charge as a unit before had it, if one did: what a caller that charges many
// alike hands in, and by which an Evaluator knows them.
func (s *scene) shared(charge quota.Amounts) quota.Amounts {
	at := slices.IndexFunc(s.charges, func(other quota.Amounts) bool { return slices.Equal(other, charge) })
	if at < 0 {
		at, s.charges = len(s.charges), append(s.charges, charge)
	}
	return s.charges[at]
}

// readWork reads what runs and who waits.
func (s *scene) readWork(l *line) {
	if l.verb != "run" && l.verb != "wait" {
		return
	}
	leaf, name := s.leafOf(l.words[0])
	l.words = l.words[1:]
	r, tasks := s.requestOf(l), l.number("tasks", 1)
	if l.verb == "wait" {
		s.wait(l, leaf, name, r, tasks)
		l.used()
		return
	}
	shape, on, lost := s.index.Shape(r), l.numbers("on", false), l.number("lost", 0)
	u := preempt.Unit{
		Leaf: leaf, Charge: s.shared(chargeOf(r, tasks)), Running: int32(tasks), Rooted: l.word("rooted"),
		Owner:       int32(l.number("owner", -1)),
		PreemptFrom: l.number("preempt-from", math.MinInt64), ReclaimFrom: l.number("reclaim-from", math.MinInt64),
	}
	if l.word("starts") { // in the solve at hand, and waits for nobody
		u.Running, u.Starting, u.Started = 0, int32(tasks), true
	}
	if l.word("claimed") {
		u.Running, u.Rooted = 0, true
	}
	u.EvictionRank = s.standingOf(l, name)
	u.GPUs = u.Charge.Of(0)
	for at := range tasks {
		place, ok := s.index.Find(shape, placement.First)
		if int(at) < len(on) {
			place, ok = s.index.PlaceOn(shape, int32(on[at]), placement.First)
		}
		if !ok || s.index.Take(shape, place) != nil {
			panic("no place for " + name)
		}
		u.Tasks = append(u.Tasks, preempt.Task{Shape: shape, Place: place, Charge: chargeOf(r, 1)})
	}
	u.Like = int32(shape) + 1 // all are placed by one strategy
	u.Tasks[0].Milli, u.Tasks[0].Since = 1, s.config.Now-lost
	if err := s.tree.Charge(int(leaf), u.Charge, u.NonPreemptible); err != nil {
		panic(err)
	}
	s.room.Add(u)
	s.units, s.requests, s.lost = append(s.units, u), append(s.requests, r), append(s.lost, lost)
	l.used()
}

// wait makes the preemptor.
func (s *scene) wait(l *line, leaf int32, name string, r placement.Request, tasks int64) {
	shape := s.index.Shape(r)
	g, err := gang.New([]gang.Set{{Shape: shape, Devices: r.Devices, Amounts: chargeOf(r, 1),
		Count: int32(tasks), Min: int32(tasks), Submitted: int32(tasks), Parent: -1}}, nil)
	if err != nil {
		panic(err)
	}
	asks := chargeOf(r, tasks)
	b := &preempt.Preemptor{
		Leaf: leaf, Asks: asks, Need: asks, Gang: g, Add: gang.Unit{Add: []int32{int32(tasks)}},
		Shapes: []placement.Shape{shape}, Exact: !l.word("searched"), GPUs: asks.Of(0), Set: -1,
		Still: true, Equivalence: int32(l.number("like", -1)), Short: s.short, Start: s.start,
	}
	b.EvictionRank = s.standingOf(l, name)
	b.Admitted = s.config.Now
	if left := l.number("cap", -1); left >= 0 {
		b.Cap = &preempt.Cap{Left: int(left), Disturbed: make(map[int32]bool)}
		if name, ok := l.said["disturbed"]; ok {
			delete(l.said, "disturbed")
			b.Cap.Disturbed[int32(slices.Index(s.works, name))] = true
		}
	}
	if domains, ok := l.said["domains"]; ok {
		delete(l.said, "domains")
		b.Domains = [][]int32{}
		for text := range strings.SplitSeq(domains, ";") {
			var nodes []int32
			for part := range strings.SplitSeq(text, ",") {
				n, err := strconv.Atoi(part)
				if err != nil {
					panic(err)
				}
				nodes = append(nodes, int32(n))
			}
			b.Domains = append(b.Domains, nodes)
		}
	}
	s.preemptor, s.request = b, r
	b.Entitled = s.room.Entitled(leaf, asks)
}

// place finds places for tasks alike, in the journal of the index.
func (s *scene) place(r placement.Request, tasks int32) bool {
	shape := s.index.Shape(r)
	for range tasks {
		p, ok := s.index.Find(shape, placement.Default)
		if !ok || s.index.Take(shape, p) != nil {
			return false
		}
	}
	return true
}

// starts says whether so many tasks find places, and leaves the nodes as they are.
func (s *scene) starts(r placement.Request, tasks int32) bool {
	m := s.index.Mark()
	defer s.index.Undo(m)
	return s.place(r, tasks)
}

// start is the preemptor's.
func (s *scene) start() bool {
	b := s.preemptor
	if _, ok := s.tree.Check(int(b.Leaf), b.Asks, b.NonPreemptible); !ok {
		return false
	}
	if b.Domains == nil {
		return s.place(s.request, b.Add.Tasks()) && s.tree.Charge(int(b.Leaf), b.Asks, b.NonPreemptible) == nil
	}
	shape := s.index.Shape(s.request)
	for _, domain := range b.Domains {
		m, missing := s.index.Mark(), b.Add.Tasks()
		for _, n := range domain {
			for missing > 0 {
				p, ok := s.index.PlaceOn(shape, n, placement.Default)
				if !ok || s.index.Take(shape, p) != nil {
					break
				}
				missing--
			}
		}
		if missing == 0 {
			s.index.Commit(m)
			return s.tree.Charge(int(b.Leaf), b.Asks, b.NonPreemptible) == nil
		}
		s.index.Undo(m)
	}
	return false
}

// short are the resources that the nodes would not give even if the tasks asked
// for one alone; if there is none, all that they ask.
func (s *scene) short() (short []int32) {
	b := s.preemptor
	for _, a := range b.Asks {
		alone := s.request
		if a.Resource == 0 {
			alone.Amounts = nil
		} else {
			alone.Devices, alone.Milli = 0, 0
		}
		if !s.starts(alone, b.Add.Tasks()) {
			short = append(short, a.Resource)
		}
	}
	if len(short) > 0 {
		return short
	}
	for _, a := range b.Asks {
		short = append(short, a.Resource)
	}
	return short
}

// stays starts a unit where it was.
func (s *scene) stays(u *preempt.Unit) bool {
	if _, ok := s.tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible); !ok {
		return false
	}
	m := s.index.Mark()
	for _, t := range u.Tasks {
		if !s.index.Fits(t.Shape, t.Place) || s.index.Take(t.Shape, t.Place) != nil {
			s.index.Undo(m)
			return false
		}
	}
	s.index.Commit(m)
	return s.tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) == nil
}

// moves starts a unit elsewhere, keeping unless anew what is free of its places.
func (s *scene) moves(u *preempt.Unit, anew bool) (moved int64, ok bool) {
	if _, ok := s.tree.Check(int(u.Leaf), u.Charge, u.NonPreemptible); !ok {
		return 0, false
	}
	m := s.index.Mark()
	defer func() {
		if !ok {
			s.index.Undo(m)
			return
		}
		s.index.Commit(m)
	}()
	var homeless []preempt.Task
	for _, t := range u.Tasks {
		if anew || !s.index.Fits(t.Shape, t.Place) || s.index.Take(t.Shape, t.Place) != nil {
			homeless = append(homeless, t)
		}
	}
	var places []placement.Place
	for _, t := range homeless {
		p, found := s.index.Find(t.Shape, placement.Default)
		if !found || s.index.Take(t.Shape, p) != nil {
			return 0, false
		}
		places = append(places, p)
	}
	for _, t := range homeless {
		if at := slices.Index(places, t.Place); at >= 0 {
			places = slices.Delete(places, at, at+1)
			continue
		}
		moved += u.GPUs / int64(len(u.Tasks))
	}
	return moved, s.tree.Charge(int(u.Leaf), u.Charge, u.NonPreemptible) == nil
}

// name is a unit's, with its step behind a plus.
func (s *scene) name(id preempt.UnitID) string {
	u := s.room.Unit(id)
	if u.Step > 0 {
		return fmt.Sprintf("%s+%d", s.works[u.Work], u.Step)
	}
	return s.works[u.Work]
}

// world is all that a question must leave as it was.
func (s *scene) world() string {
	var text strings.Builder
	for q := range s.queues {
		for r := range s.resources {
			fmt.Fprint(&text, s.tree.Use(q, r), s.tree.NonPreemptible(q, r), " ")
		}
	}
	for n := range s.nodes {
		for r := range s.resources {
			fmt.Fprint(&text, s.index.MostFree(int32(n), int32(r)), " ")
		}
	}
	return text.String()
}

// find asks the room and returns the names of the victims in their order, or
// nothing. Whatever the answer, the world is as it was.
func (s *scene) find(t testing.TB, mode preempt.Mode) (victims []string, p preempt.Proposal, refusal preempt.Refusal) {
	t.Helper()
	before := s.world()
	p, refusal, ok := s.room.Find(s.preemptor, mode)
	if after := s.world(); after != before {
		t.Errorf("the world was\n%s\nand is\n%s", before, after)
	}
	if ok != (len(p.Justifications) > 0) {
		t.Errorf("found is %t with %d victims", ok, len(p.Justifications))
	}
	for _, c := range p.Justifications {
		victims = append(victims, s.name(c.Victim))
	}
	return victims, p, refusal
}
