package gang

import "encoding/binary"

// An Interner builds each distinct definition once, so that a million alike
// workloads share one Gang. The zero Interner is ready. It belongs to one
// goroutine; the gangs it returns may be shared by any.
type Interner struct {
	gangs map[string]*Gang
	key   []byte
}

// Intern is [New] for a definition not seen before, and the gang built then for
// one seen. Definitions are the same if all fields of all sets and groups are,
// in the same order. The error is that of New; a faulty definition is not kept.
// O(size of the definition), without allocation for one seen before.
func (in *Interner) Intern(sets []Set, groups []Group) (*Gang, error) {
	key := binary.AppendUvarint(in.key[:0], uint64(len(sets)))
	for i := range sets {
		key = binary.AppendVarint(appendSet(key, &sets[i]), int64(sets[i].Parent))
	}
	for _, g := range groups {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(g.Parent)), int64(g.Min))
	}
	in.key = key
	if g, ok := in.gangs[string(key)]; ok {
		return g, nil
	}
	g, err := New(sets, groups)
	if err != nil {
		return nil, err
	}
	if in.gangs == nil {
		in.gangs = make(map[string]*Gang)
	}
	in.gangs[string(key)] = g
	return g, nil
}

// Len is how many distinct definitions were built.
func (in *Interner) Len() int { return len(in.gangs) }
