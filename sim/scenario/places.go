package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxRange bounds what a range of names or numbers may stand for.
const maxRange = 1 << 20

// expand reads a list of names in which a..b stands for all the names that
// differ in their last number: n8..n11 is n8,n9,n10,n11 and n08..n11 is
// n08,n09,n10,n11.
func expand(text string) ([]string, error) {
	var names []string
	for _, part := range split(text, ",") {
		first, last, isRange := cut(part, "..")
		if !isRange {
			name, err := unquote(first)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
			continue
		}
		between, err := namesBetween(first, last)
		if err != nil {
			return nil, err
		}
		names = append(names, between...)
	}
	return names, nil
}

func namesBetween(first, last string) ([]string, error) {
	prefix, from, err := numbered(first)
	if err != nil {
		return nil, err
	}
	lastPrefix, to, err := numbered(last)
	if err != nil {
		return nil, err
	}
	if prefix != lastPrefix || to < from || to-from >= maxRange {
		return nil, fmt.Errorf("%s..%s is no range", first, last)
	}
	width := 0 // names are padded only if the first one is
	if digits := first[len(prefix):]; digits[0] == '0' {
		width = len(digits)
	}
	var names []string
	for n := from; n <= to; n++ {
		names = append(names, fmt.Sprintf("%s%0*d", prefix, width, n))
	}
	return names, nil
}

// numbered takes a name apart into what is before its last number and that.
func numbered(name string) (prefix string, number int, err error) {
	prefix = strings.TrimRight(name, "0123456789")
	number, err = natural(name[len(prefix):])
	if errors.Is(err, errRange) {
		return "", 0, err
	}
	if err != nil || prefix != "" && checkBare(prefix) != nil {
		return "", 0, fmt.Errorf("%s is not a name with a number at its end", name)
	}
	return prefix, number, nil
}

// A namedRun is a stretch of a list whose names can be written as one range.
type namedRun struct{ from, to int }

// runs parts the list 0…n−1 into stretches of names that count up by one, as
// long as same says that the items may stand together.
func runs(names []string, same func(i, j int) bool) []namedRun {
	var found []namedRun
	for at := 0; at < len(names); {
		end := at + 1
		for end < len(names) && same(at, end) && follows(names[end-1], names[end]) {
			end++
		}
		found = append(found, namedRun{at, end})
		at = end
	}
	return found
}

// follows reports whether b is the name after a in a range.
func follows(a, b string) bool {
	if quote(a) != a || quote(b) != b {
		return false
	}
	prefix, number, err := numbered(a)
	if err != nil {
		return false
	}
	// Padding stays as it is: a name with a leading zero keeps its width, one
	// without may grow.
	digits := a[len(prefix):]
	if digits[0] == '0' && len(b) != len(a) {
		return false
	}
	width := 0
	if digits[0] == '0' {
		width = len(digits)
	}
	return number < maxRange && b == fmt.Sprintf("%s%0*d", prefix, width, number+1)
}

// formatNames writes names as a list of names and ranges.
func formatNames(names []string) string {
	always := func(int, int) bool { return true }
	var parts []string
	for _, r := range runs(names, always) {
		parts = append(parts, rangeOf(names, r))
	}
	return strings.Join(parts, ",")
}

// rangeOf writes one stretch of names. A range begins with a name that says
// by its padding how all of it is padded.
func rangeOf(names []string, r namedRun) string {
	if r.to-r.from == 1 {
		return quote(names[r.from])
	}
	return names[r.from] + ".." + names[r.to-1]
}

// numbers reads a list of numbers and ranges: 0-3,5.
func numbers(text string) ([]int, error) {
	var list []int
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := natural(first)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = natural(last); err != nil {
				return nil, err
			}
			if to < from || to-from >= maxRange {
				return nil, fmt.Errorf("%q is no range", part)
			}
		}
		for n := from; n <= to; n++ {
			list = append(list, n)
		}
	}
	return list, nil
}

// formatNumbers writes what numbers reads, in the order given.
func formatNumbers(list []int) string {
	var parts []string
	for at := 0; at < len(list); {
		end := at + 1
		for end < len(list) && list[end] == list[end-1]+1 {
			end++
		}
		if end-at == 1 {
			parts = append(parts, strconv.Itoa(list[at]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[at], list[end-1]))
		}
		at = end
	}
	return strings.Join(parts, ",")
}

// A seat is one word behind 'on': a place and, where given, whose it is.
type seat struct {
	word
	podSet  string
	named   bool // podSet is given
	index   int
	indexed bool // index is given
	node    string
	devices []int
	exact   bool // the devices are given, if only as []
}

// parseSeat reads [SET][:INDEX]@NODE[DEVICES]; what is before '@' may be an
// index alone.
func parseSeat(w word) (seat, error) {
	s := seat{word: w}
	owner, place, owned := cut(w.text, "@")
	if !owned {
		place = w.text
	} else if err := s.readOwner(owner); err != nil {
		return s, w.errorf("%v", err)
	}
	node, rest, hasDevices := cut(place, "[")
	name, err := unquote(node)
	if err != nil {
		return s, w.errorf("%v", err)
	}
	s.node, s.exact = name, hasDevices
	if !hasDevices {
		return s, nil
	}
	list, closed := strings.CutSuffix(rest, "]")
	if !closed {
		return s, w.errorf("the '[' is not closed")
	}
	if list == "" {
		return s, nil
	}
	if s.devices, err = numbers(list); err != nil {
		return s, w.errorf("%v", err)
	}
	return s, nil
}

func (s *seat) readOwner(owner string) error {
	set, index, hasIndex := cut(owner, ":")
	if !hasIndex && set != "" && isDigits(set) {
		set, index, hasIndex = "", set, true
	}
	if set != "" {
		name, err := unquote(set)
		if err != nil {
			return err
		}
		s.podSet, s.named = name, true
	}
	if !hasIndex {
		if !s.named {
			return errors.New("nothing before the '@'")
		}
		return nil
	}
	number, err := natural(index)
	s.index, s.indexed = number, true
	return err
}

// formatPlace writes a place as parseSeat reads it.
func formatPlace(node string, devices []int) string {
	if len(devices) == 0 {
		return quote(node)
	}
	return quote(node) + "[" + formatNumbers(devices) + "]"
}

// formatOwner writes what stands before a place: the pod set if it has a name
// and the index if it is not the one that comes next in the set.
func formatOwner(podSet string, index, next int) string {
	owner := ""
	if podSet != "" {
		if owner = quote(podSet); isDigits(podSet) {
			owner = strconv.Quote(podSet)
		}
		if index != next {
			owner += ":"
		}
	}
	if index != next {
		owner += strconv.Itoa(index)
	}
	if owner == "" {
		return ""
	}
	return owner + "@"
}
