package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A line is a statement while it is written.
type line struct{ words []string }

func newLine(words ...string) *line { return &line{words} }

// add writes key=value.
func (l *line) add(key, value string) { l.words = append(l.words, key+"="+value) }

// flag writes the key alone where on is true.
func (l *line) flag(key string, on bool) {
	if on {
		l.words = append(l.words, key)
	}
}

// bound writes a number of seconds where it is given.
func (l *line) bound(key string, b quota.Bound) {
	if b.Given() {
		l.add(key, formatBound(b, formatSeconds))
	}
}

// instant writes a time where it is set.
func (l *line) instant(key string, t time.Time) {
	if !t.IsZero() {
		l.add(key, formatInstant(t))
	}
}

// String is the whole line without its end.
func (l *line) String() string { return strings.Join(l.words, " ") }

// nodeSet writes what readNodeSet reads.
func (l *line) nodeSet(s allot.NodeSet) {
	if len(s.IDs) > 0 {
		l.add("nodes", formatNames(s.IDs))
	}
	if s.Selector == nil {
		return
	}
	l.flag("where", s.Selector.IsZero())
	l.selector("where", "where.expr", s.Selector)
}

// selector writes labels and expressions under the keys given.
func (l *line) selector(label, expression string, s *placement.Selector) {
	for _, key := range sortedKeys(s.Labels) {
		l.add(label, quote(key)+":"+quote(s.Labels[key]))
	}
	for _, e := range s.Expressions {
		text := quote(e.Key) + ":" + e.Operator.String()
		if len(e.Values) > 0 {
			text += ":" + quoteAll(e.Values)
		}
		l.add(expression, text)
	}
}

// amounts writes resources under the prefix.
func (l *line) amounts(prefix string, amounts map[string]int64) {
	for _, resource := range sortedKeys(amounts) {
		l.add(prefix+resourceKey(resource), formatAmount(resource, amounts[resource]))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
