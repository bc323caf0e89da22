package explain

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// A Fate is what a plan means for a workload: the most telling of what it does
// to it. The texts are stable, and a host may act on them.
type Fate uint8

// The fates. Where a plan does several things to a workload, the one that comes
// first in this order names its fate, from Evicted on.
const (
	// Untouched: the plan does nothing to it and gives no reason why it waits. It
	// runs on, or the state of the plan does not have it.
	Untouched Fate = iota
	// Absent: the state of the plan does not have it. Only [WhatIf] knows.
	Absent
	// Evicted: it loses all its places to others, or as a stale gang ([allot.Evict]).
	Evicted
	// Displaced: tasks lost their places with a node or device ([allot.Displace]); it
	// may start again in the same plan.
	Displaced
	// Starts: it gets the places of what is missing to its minimum ([allot.Start]).
	Starts
	// Waits: it starts nothing, for reasons.
	Waits
	// Shrinks: it gives up tasks above its minimum ([allot.Shrink]).
	Shrinks
	// Moves: running tasks change their places ([allot.Move]).
	Moves
	// Grows: it gets tasks above its minimum ([allot.Resize]).
	Grows
	// Unclaims: it gives up claimed places ([allot.Unclaim]).
	Unclaims
)

var fateNames = [...]string{
	Untouched: "untouched",
	Absent:    "absent",
	Evicted:   "evicted",
	Displaced: "displaced",
	Starts:    "starts",
	Waits:     "waits",
	Shrinks:   "shrinks",
	Moves:     "moves",
	Grows:     "grows",
	Unclaims:  "unclaims",
}

// String is the fate's text: its name in lower case.
func (f Fate) String() string { return prose.Name("Fate", fateNames[:], f) }

// MarshalText is the text of String; an unknown value is an error.
func (f Fate) MarshalText() ([]byte, error) { return prose.MarshalName("fate", fateNames[:], f) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (f *Fate) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("fate", fateNames[:], f, text)
}

// fateOf is the fate that an action of a kind means.
var fateOf = [...]Fate{
	allot.Start: Starts, allot.Resize: Grows, allot.Displace: Displaced, allot.Unclaim: Unclaims,
	allot.Evict: Evicted, allot.Shrink: Shrinks, allot.Move: Moves,
}

func (o *Outcome) fate() Fate {
	fate := Untouched
	if len(o.Reasons) > 0 {
		fate = Waits
	}
	for i := range o.Actions {
		if kind := o.Actions[i].Kind; int(kind) < len(fateOf) && fateOf[kind] != Untouched && (fate == Untouched || fateOf[kind] < fate) {
			fate = fateOf[kind]
		}
	}
	return fate
}
