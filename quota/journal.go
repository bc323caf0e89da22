package quota

// A Mark is a point to which a [Tree] can be taken back. The zero Mark is no
// point of any tree.
type Mark struct {
	depth  int
	serial uint64
}

// openMark is a Mark that is neither undone nor committed.
type openMark struct {
	serial uint64
	length int // of the journal when it was set
}

// change is one resource of one charge, or with a negative value of a release.
type change struct {
	value          int64
	queue          int32
	resource       int32
	nonPreemptible bool
}

// Mark begins a trial: until the mark is closed by [Tree.Undo] or
// [Tree.Commit], charges and releases are journaled. Marks nest. With no mark
// open nothing is journaled.
func (t *Tree) Mark() Mark {
	t.serial++
	m := Mark{depth: len(t.marks), serial: t.serial}
	t.marks = append(t.marks, openMark{serial: m.serial, length: len(t.journal)})
	return m
}

// Undo takes back every change since m, in time O(changes × depth), and closes m
// and the marks set after it. A mark that is not open is ignored.
func (t *Tree) Undo(m Mark) {
	if !t.open(m) {
		return
	}
	start := t.marks[m.depth].length
	for i := len(t.journal) - 1; i >= start; i-- {
		c := t.journal[i]
		c.value = -c.value
		t.apply(c)
	}
	t.journal = t.journal[:start]
	t.marks = t.marks[:m.depth]
}

// Commit keeps every change since m and closes m and the marks set after it;
// a mark set before m can still undo them. A mark that is not open is ignored.
func (t *Tree) Commit(m Mark) {
	if !t.open(m) {
		return
	}
	t.marks = t.marks[:m.depth]
	if m.depth == 0 {
		t.journal = t.journal[:0]
	}
}

func (t *Tree) open(m Mark) bool {
	return m.depth < len(t.marks) && t.marks[m.depth].serial == m.serial
}
