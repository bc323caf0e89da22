package allot

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// The limits of the library. Amounts have [MaxAmount] besides.
const (
	maxText         = 1024                               // bytes of a name
	maxDevices      = placement.MaxDevices               // of a node: a place is a mask of 64 bits
	maxTasks        = gang.MaxTasks                      // of all workloads, in all forms: what a plan may have to name
	maxFigures      = 1 << 20                            // of queues and resources, where they are not in proportion to the input
	figuresOfEach   = 64                                 // of each queue, and of each resource that a queue gives
	maxCount        = math.MaxInt32                      // any other number of things
	maxAlternatives = math.MaxInt16 - 1                  // of a workload, besides its own form
	maxSum          = quota.MaxSum                       // of amounts: below 2^62
	mostRelocations = 4                                  // units beside victims: all sets of so many are tried
	maxMoved        = 1_000_000                          // percent of what a consolidation is for
	maxMixWeight    = 1<<39 - 1                          // of a target mix in all; with the tasks there are at most 2^40
	maxLevels       = 64                                 // of the topology
	maxIslands      = placement.MaxDevices               // sockets or switches of a node
	maxWork         = 1 << 42                            // task-seconds of fixed work: in microseconds it fits 64 bits
	leastDuration   = 1                                  // second
	maxDuration     = endSecond                          // of durations: no longer than there are times
	maxStrength     = 1_000_000                          // of Policy.UsageStrengthMilli: 1000
	leastMargin     = 1000                               // of Policy.ReclaimMarginMilli: 1
	maxMargin       = 1 << 20                            // of Policy.ReclaimMarginMilli
	firstSecond     = 0                                  // of times: 1970-01-01
	endSecond       = cluster.EndOfTime / cluster.Second // of times
)

// Check says everything that is wrong with s (V1): nil, or an [*InvalidError]
// with every fault, in the order of the State's fields, list indices and map
// keys, never only the first. It never panics and does not modify s. [Solve]
// and the others check for themselves; a host calls Check to tell its users
// early. What is odd but lawful is no fault; see [Plan.Warnings].
//
// Sums are checked so that no later one can overflow: what all forms of all
// workloads request, the capacity and the foreign use of all nodes, and the
// quotas and the weights of siblings each stay below 2^62 per resource.
//
// [Plan.Shares] has a line for each queue and resource of a pool, so that a thousand queues that
// each give a resource of their own come to a million lines. All pools together may have 2^20 such
// pairs, or 64 for each queue and each resource that a queue gives if that is more: 2^14 queues may
// have as many resources as they like if each names one in 64, and what has fewer than 64 resources
// any number of queues.
//
// It takes time linear in the size of s, n·log n where there are faults, and
// keeps no map of the workloads if they are sorted by ID.
func Check(s *State) error {
	if s == nil {
		return nil
	}
	_, err := checkForms(s)
	return err
}

// checkForms is Check that says which forms of the state are alike.
func checkForms(s *State) (*kinds, error) {
	c := checker{s: s, workloads: pointers(s.Workloads), kinds: new(kinds)}
	c.state()
	if len(c.faults) == 0 {
		return c.kinds, nil
	}
	return nil, &InvalidError{Faults: sortByPlace(c.faults)}
}

// A checker walks a State once, object by object. Each object has a function that
// gets the object's path; a path becomes text only when a fault is found.
type checker struct {
	s         *State
	workloads []*Workload // its own, which s need not have
	faults    []placed

	levels map[string]placement.Level // by name, that of the nodes included
	nodes  map[string]int32           // by ID: index in the State
	pools  map[string]int32
	queues map[string]int32

	queuePool []int32 // by queue: its pool, or none
	parent    []int32 // by queue: the queue above it, or none
	inner     []bool  // by queue: there is a queue below it
	hasQueues []bool  // by pool

	classes     []map[string]bool // by pool
	leastMemory []int64           // by pool: of its devices; nil until asked for

	requested sums // of all workloads
	capacity  sums // of all nodes
	tasks     int64
	longest   int64            // of all durations, in seconds
	tasksIn   []int64          // by pool: those of its workloads
	kinds     *kinds           // of the forms of all workloads; nil where few are checked
	sound     []soundKind      // by kind
	names     map[string]int32 // scratch: names of a form
	ledger    ledger           // what tasks hold; nil while there is no task
}

// pointers are those to the entries of a list.
func pointers(list []Workload) []*Workload {
	out := make([]*Workload, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// none is the index of what is absent or faulty.
const none = -1

func (c *checker) state() {
	at := root()
	c.time(&at, "now", c.s.Now)
	c.text(&at, "revision", c.s.Revision)
	c.checkLevels(&at)
	c.checkNodes(&at)
	c.checkPools(&at)
	c.checkQueues(&at)
	c.checkWorkloads(&at)
	checkFigures(c, &at)
	c.checkBudgets(&at)
	checkReservations(c, &at)
	c.checkLedger(&at)
}

func (c *checker) fault(at *path, code FaultCode, value, want string) {
	f := Fault{Path: at.String(), Code: code, Value: value, Want: want}
	c.faults = append(c.faults, placeFault(c.s, at, f))
}

// faultAt is fault at a field of the place.
func (c *checker) faultAt(at *path, field string, code FaultCode, value, want string) {
	below := at.field(field)
	c.fault(&below, code, value, want)
}

// directory maps the IDs of a list to indices and reports those given twice.
func (c *checker) directory(list *path, n int, id func(int) string) map[string]int32 {
	index := make(map[string]int32, n)
	for i := range n {
		name := id(i)
		if name == "" {
			continue
		}
		if first, twice := index[name]; twice {
			c.duplicate(list, i, "id", name, int(first))
			continue
		}
		index[name] = int32(i)
	}
	return index
}

// duplicate reports that entry i of a list has the name of an earlier one.
func (c *checker) duplicate(list *path, i int, field, name string, first int) {
	c.duplicateValue(list, i, field, strconv.QuoteToASCII(name), first)
}

// duplicateValue is duplicate for the text of any value.
func (c *checker) duplicateValue(list *path, i int, field, value string, first int) {
	here, entry := list.at(i), list.at(first)
	there := entry.field(field)
	c.faultAt(&here, field, FaultDuplicate, value, "must differ from "+there.String())
}

// name checks a text that must be there.
func (c *checker) name(at *path, field, s string) {
	if s == "" {
		c.faultAt(at, field, FaultEmpty, `""`, "must not be empty")
		return
	}
	givenText(c, at, field, s)
}

// text checks a text that may be empty.
func (c *checker) text(at *path, field, s string) {
	if s != "" {
		givenText(c, at, field, s)
	}
}

// givenText checks a text that is not empty.
func givenText(c *checker, at *path, field, s string) {
	if !soundText(s) {
		below := at.field(field)
		c.unsoundText(&below, s)
	}
}

// key checks a key of the map at the place.
func (c *checker) key(at *path, s string) {
	if s != "" && soundText(s) {
		return
	}
	below := at.key(s)
	if s == "" {
		c.fault(&below, FaultEmpty, `""`, "must not have an empty name")
		return
	}
	c.unsoundText(&below, s)
}

func (c *checker) unsoundText(at *path, s string) {
	if len(s) > maxText {
		c.fault(at, FaultText, strconv.Itoa(len(s))+" bytes long", "must have at most "+strconv.Itoa(maxText)+" bytes")
		return
	}
	c.fault(at, FaultText, strconv.QuoteToASCII(s), "must be UTF-8 without control characters")
}

// soundText reports whether s is short enough, UTF-8, and printed in one line.
func soundText(s string) bool {
	if len(s) > maxText {
		return false
	}
	for i := range len(s) {
		if s[i]-' ' >= 0x7f-' ' { // nothing that ASCII prints
			return s[i] >= utf8.RuneSelf && soundUnicode(s)
		}
	}
	return true
}

func soundUnicode(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// within checks a number.
func (c *checker) within(at *path, field string, n, least, most int64) bool {
	return n >= least && n <= most || notWithin(c, at, field, n, least, most)
}

// notWithin reports a number of a field of the place, and is false.
func notWithin(c *checker, at *path, field string, n, least, most int64) bool {
	below := at.field(field)
	c.outOfRange(&below, n, least, most)
	return false
}

func (c *checker) outOfRange(at *path, n, least, most int64) {
	want := "must be ≤ " + strconv.FormatInt(most, 10)
	switch {
	case n < least && least == 1:
		want = "must be > 0"
	case n < least:
		want = "must be ≥ " + strconv.FormatInt(least, 10)
	}
	c.fault(at, FaultRange, strconv.FormatInt(n, 10), want)
}

// amounts checks a map of amounts by resource. GPU is none of its keys.
func (c *checker) amounts(at *path, field string, amounts map[string]int64) {
	if len(amounts) == 0 {
		return
	}
	below := at.field(field)
	for name, n := range amounts { // the faults are sorted in the end
		c.key(&below, name)
		if name == GPU {
			entry := below.key(name)
			c.fault(&entry, FaultReservedResource, strconv.FormatInt(n, 10), "must not be listed here: devices are the GPUs")
		}
		if n < 0 || n > MaxAmount {
			entry := below.key(name)
			c.outOfRange(&entry, n, 0, MaxAmount)
		}
	}
}

// valid is what an enumeration of a child package says of itself.
type valid interface {
	Valid() bool
	String() string
}

func enum[E valid](c *checker, at *path, field string, value E) {
	if !value.Valid() {
		unknownValue(c, at, field, value)
	}
}

// unknownValue is the fault of an enumeration that has no such value.
func unknownValue[E fmt.Stringer](c *checker, at *path, field string, value E) {
	c.faultAt(at, field, FaultUnknownValue, value.String(), jsonform.KnownValue(reflect.TypeFor[E]()))
}

// A total adds up amounts and stays at maxSum+1 once it has come there.
type total int64

const tooLarge total = total(maxSum) + 1

func (t *total) add(n, times int64) {
	if n <= 0 || times <= 0 {
		return
	}
	if n > maxSum/times {
		*t = tooLarge
		return
	}
	*t = min(*t+total(n*times), tooLarge)
}

// sums are totals by resource. There are few resources, so a list is faster
// than a map until it gets long.
type sums struct {
	list  []sum
	index map[string]int32
}

// A sum is the total of one resource.
type sum struct {
	name  string
	total total
}

const shortList = 8

func (s *sums) of(name string) *total {
	if s.index == nil {
		for i := range s.list {
			if s.list[i].name == name {
				return &s.list[i].total
			}
		}
	} else if i, ok := s.index[name]; ok {
		return &s.list[i].total
	}
	if s.list == nil {
		s.list = make([]sum, 0, shortList/2)
	}
	s.list = append(s.list, sum{name: name})
	if len(s.list) > shortList {
		if s.index == nil {
			s.index = make(map[string]int32)
			for i := range s.list {
				s.index[s.list[i].name] = int32(i)
			}
		}
		s.index[name] = int32(len(s.list) - 1)
	}
	return &s.list[len(s.list)-1].total
}

// checkSums reports the totals that are too large.
func (c *checker) checkSums(at *path, s *sums, what string) {
	for _, sum := range s.list {
		if sum.total == tooLarge {
			c.fault(at, FaultSum, "2^62 or more", "must "+what+" less than 2^62 of "+strconv.Quote(sum.name)+" in all")
		}
	}
}
