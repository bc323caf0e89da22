package placement

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A column is one label of every node: only keys that some selector names have
// one, so that labels nobody asks for, such as host names, cost nothing.
type column struct {
	of     []int32 // by node: the value's number, -1 where it is absent
	values []string
}

func (x *Index) column(key string) column {
	c, known := x.columns[key]
	if known {
		return c
	}
	c.of = make([]int32, len(x.labels))
	numbers := map[string]int32{}
	for v, labels := range x.labels {
		c.of[v] = -1
		if value, present := labels[key]; present {
			c.of[v] = intern(numbers, value, func() { c.values = append(c.values, value) })
		}
	}
	x.columns[key] = c
	return c
}

// selectorKey is equal for selectors that demand the same.
func selectorKey(s *Selector) string {
	key := binary.AppendUvarint(nil, uint64(len(s.Labels)))
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		key = appendText(key, label)
		key = appendText(key, s.Labels[label])
	}
	for _, e := range s.Expressions {
		key = appendText(key, e.Key)
		key = append(key, byte(e.Operator))
		key = binary.AppendUvarint(key, uint64(len(e.Values)))
		for _, value := range e.Values {
			key = appendText(key, value)
		}
	}
	return string(key)
}

// matching returns the nodes whose labels match. Each condition is tested once
// per distinct value, then looked up per node.
func (x *Index) matching(s *Selector) bitmap {
	key := selectorKey(s)
	if b, known := x.selectors[key]; known {
		return b
	}
	conditions := make([]Expression, 0, len(s.Labels)+len(s.Expressions))
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		conditions = append(conditions, Expression{label, In, []string{s.Labels[label]}})
	}
	conditions = append(conditions, s.Expressions...)
	b := x.every.clone()
	for _, e := range conditions {
		c := x.column(e.Key)
		absent := e.Matches("", false)
		present := make([]bool, len(c.values))
		for i, value := range c.values {
			present[i] = e.Matches(value, true)
		}
		for v, value := range c.of {
			if value < 0 && !absent || value >= 0 && !present[value] {
				b.clear(int32(v))
			}
		}
	}
	x.selectors[key] = b
	return b
}
