package preempt_test

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Places for the oracle of least harm: whole devices and fractions of one, and
// one more resource. Whether tasks find places at all is decided exactly; where
// they go, for consolidation, by the order of choice of package placement.

// A harmFree is what is used of every node.
type harmFree struct {
	nodes int
	count [harmNodes]int16              // devices
	used  [harmNodes][harmDevices]int16 // in milli
	cpu   [harmNodes]int64              // free
}

// free is what is free with units gone.
func (c *harmCase) free(gone uint32) *harmFree {
	f := c.empty
	for i := range c.units {
		if gone&(1<<i) == 0 {
			for _, t := range c.units[i].tasks {
				f.take(t, 1)
			}
		}
	}
	return &f
}

// take occupies a task's place, or gives it back with −1.
func (f *harmFree) take(t harmTask, sign int64) {
	f.cpu[t.node] -= sign * t.shape.cpu
	for _, d := range t.devices {
		f.used[t.node][d] += int16(sign * t.shape.milli)
	}
}

// holds says whether a task fits in a place.
func (f *harmFree) holds(t harmTask) bool {
	if t.shape.cpu > 0 && f.cpu[t.node] < t.shape.cpu {
		return false
	}
	return !slices.ContainsFunc(t.devices, func(d int) bool { return int64(f.used[t.node][d])+t.shape.milli > 1000 })
}

// takesBack puts tasks where they were if all of their places are free.
func (f *harmFree) takesBack(tasks []harmTask) bool {
	for i, t := range tasks {
		if !f.holds(t) {
			for _, taken := range tasks[:i] {
				f.take(taken, -1)
			}
			return false
		}
		f.take(t, 1)
	}
	return true
}

// takes says exactly whether all tasks find places at once.
func (f *harmFree) takes(wants []harmWant) bool {
	if len(wants) == 1 {
		room := 0
		for node := range f.nodes {
			room += f.room(node, wants[0].shape)
		}
		return room >= wants[0].n
	}
	var tasks []*harmShape
	for _, w := range wants {
		for range w.n {
			tasks = append(tasks, w.shape)
		}
	}
	return f.pack(tasks)
}

// room is how many tasks of a shape a node takes.
func (f *harmFree) room(node int, s *harmShape) int {
	if !s.accepts[node] {
		return 0
	}
	room := 1 << 20
	if s.cpu > 0 {
		room = int(max(0, f.cpu[node]) / s.cpu)
	}
	if s.devices == 0 {
		return room
	}
	onDevices := make([]int, f.count[node])
	for d := range onDevices {
		onDevices[d] = int((1000 - int64(f.used[node][d])) / s.milli)
	}
	return min(room, harmSpread(onDevices, s.devices))
}

// pack tries every place for the first task, and so on.
func (f *harmFree) pack(tasks []*harmShape) bool {
	if len(tasks) == 0 {
		return true
	}
	for node := range f.nodes {
		if f.room(node, tasks[0]) == 0 {
			continue
		}
		var tried [][]int16
		for _, devices := range f.choices(node, tasks[0]) {
			var load []int16 // devices alike are one choice
			for _, d := range devices {
				load = append(load, f.used[node][d])
			}
			if slices.ContainsFunc(tried, func(other []int16) bool { return slices.Equal(other, load) }) {
				continue
			}
			tried = append(tried, load)
			t := harmTask{shape: tasks[0], node: node, devices: devices}
			f.take(t, 1)
			ok := f.pack(tasks[1:])
			f.take(t, -1)
			if ok {
				return true
			}
		}
	}
	return false
}

// choices are the sets of devices on which a node takes a task.
func (f *harmFree) choices(node int, s *harmShape) [][]int {
	sets := [][]int{nil}
	for range s.devices {
		var longer [][]int
		for _, set := range sets {
			from := 0
			if len(set) > 0 {
				from = set[len(set)-1] + 1
			}
			for d := from; d < int(f.count[node]); d++ {
				if int64(f.used[node][d])+s.milli <= 1000 {
					longer = append(longer, append(slices.Clone(set), d))
				}
			}
		}
		sets = longer
	}
	return sets
}

// place places the tasks as the strategy prefers, hardest first, and in other
// orders where that fails, as package gang does.
func (c *harmCase) place(f *harmFree, wants []harmWant) (placed []harmTask, ok bool) {
	order := slices.Clone(wants)
	slices.SortStableFunc(order, func(a, b harmWant) int {
		x, y := c.charge(a.shape), c.charge(b.shape)
		return cmp.Or(cmp.Compare(b.shape.devices, a.shape.devices), cmp.Compare(y[0], x[0]), cmp.Compare(y[1], x[1]))
	})
	for range 8 {
		trial := *f
		placed, failed := c.placeInOrder(&trial, order)
		if failed < 0 {
			*f = trial
			return placed, true
		}
		if failed == 0 {
			return nil, false
		}
		kind := order[failed]
		order = slices.Insert(slices.Delete(slices.Clone(order), failed, failed+1), 0, kind)
	}
	return nil, false
}

func (c *harmCase) placeInOrder(f *harmFree, order []harmWant) (placed []harmTask, failed int) {
	for i, want := range order {
		for range want.n {
			t, ok := c.find(f, want.shape)
			if !ok {
				return nil, i
			}
			f.take(t, 1)
			placed = append(placed, t)
		}
	}
	return placed, -1
}

// find is the place that the strategy prefers (P3, P6).
func (c *harmCase) find(f *harmFree, s *harmShape) (best harmTask, ok bool) {
	strategy := cmp.Or(s.strategy, placement.BinPack)
	var bestKey []int64
	for node := range f.nodes {
		if f.room(node, s) == 0 {
			continue
		}
		devices := f.preferred(node, s, strategy)
		key := append(c.nodeKey(f, node, s, devices, strategy), int64(node))
		if !ok || slices.Compare(key, bestKey) < 0 {
			best, bestKey, ok = harmTask{shape: s, node: node, devices: devices}, key, true
		}
	}
	return best, ok
}

// preferred are the devices of the node that the strategy takes.
func (f *harmFree) preferred(node int, s *harmShape, strategy placement.Strategy) []int {
	var fitting []int
	for d := range int(f.count[node]) {
		if int64(f.used[node][d])+s.milli <= 1000 {
			fitting = append(fitting, d)
		}
	}
	slices.SortStableFunc(fitting, func(a, b int) int {
		x, y := int64(f.used[node][a]), int64(f.used[node][b])
		switch strategy {
		case placement.Spread:
			return cmp.Compare(x, y)
		case placement.First:
			return 0
		case placement.Default, placement.BinPack:
		}
		return cmp.Compare(y, x) // the fullest leaves least over, an empty one comes last
	})
	chosen := slices.Clone(fitting[:s.devices])
	slices.Sort(chosen)
	return chosen
}

// nodeKey is what a strategy compares nodes by, lower first.
func (c *harmCase) nodeKey(f *harmFree, node int, s *harmShape, devices []int, strategy placement.Strategy) []int64 {
	var wholes, used, opens int64
	for d := range int(f.count[node]) {
		used += int64(f.used[node][d])
		if f.used[node][d] == 0 {
			wholes++
			if slices.Contains(devices, d) && s.milli < 1000 {
				opens = 1
			}
		}
	}
	if s.devices == 0 {
		return c.cpuKey(f, node, s, strategy)
	}
	switch strategy {
	case placement.Spread:
		return []int64{harmLevel(used, 1000*int64(f.count[node]))}
	case placement.First:
		return nil
	case placement.Default, placement.BinPack:
	}
	idle := int64(0)
	if wholes == int64(f.count[node]) {
		idle = 1
	}
	return []int64{opens, idle, wholes}
}

func (c *harmCase) cpuKey(f *harmFree, node int, s *harmShape, strategy placement.Strategy) []int64 {
	withGPUs, level := int64(0), int64(0)
	if f.count[node] > 0 {
		withGPUs = 1
	}
	if s.cpu > 0 {
		level = harmLevel(c.empty.cpu[node]-f.cpu[node], c.empty.cpu[node])
	}
	switch strategy {
	case placement.Spread:
	case placement.First:
		level = 0
	case placement.Default, placement.BinPack:
		level = -level
	}
	return []int64{withGPUs, level}
}

// harmLevel is a load in 63 steps, rounded up (P3).
func harmLevel(used, capacity int64) int64 {
	if capacity <= 0 {
		return 63
	}
	return min(63, (63*used+capacity-1)/capacity)
}

// harmSpread is how many tasks of so many devices each find different devices,
// of which each has room for so many parts.
func harmSpread(room []int, devices int) (tasks int) {
	for {
		places := 0
		for _, n := range room {
			places += min(n, tasks+1)
		}
		if places < devices*(tasks+1) {
			return tasks
		}
		tasks++
	}
}
