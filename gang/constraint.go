package gang

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/placement"
)

// Mode is how tasks are parted among the domains of the preferred level (T2).
type Mode uint8

const (
	// Pack uses the fewest domains, the fullest that do (T5). It is the zero
	// value.
	Pack Mode = iota
	// Balance gives domains even parts, which differ by one at most, the fewest that
	// there are; else those that differ least.
	Balance
	// Spread uses as many domains as there are, and gives them equal parts.
	Spread
)

var modes = [...]string{Pack: "pack", Balance: "balance", Spread: "spread"}

// Valid reports whether m is one of the constants.
func (m Mode) Valid() bool { return int(m) < len(modes) }

// String returns the text form: "pack", "balance" or "spread".
func (m Mode) String() string {
	if m.Valid() {
		return modes[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (m Mode) MarshalText() ([]byte, error) {
	if !m.Valid() {
		return nil, fmt.Errorf("gang: no Mode %d", uint8(m))
	}
	return []byte(modes[m]), nil
}

// UnmarshalText reads the text form; any other text is an error and leaves m as
// it was.
func (m *Mode) UnmarshalText(text []byte) error {
	for i, known := range modes {
		if known == string(text) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("gang: no Mode %q: there is %s", text, strings.Join(modes[:], ", "))
}

// A Constraint says how near to each other the tasks of a set or of a group run
// (T2). Levels are those of the [placement.Topology] that the [Placer] is given; 0,
// the whole cluster, asks for nothing. The zero Constraint lets them run anywhere.
type Constraint struct {
	// Required is the level of which one domain holds all tasks.
	Required placement.Level
	// Preferred is the level of which one domain should; 0 is Required. If none
	// can, wider ones are tried up to Required.
	Preferred placement.Level
	// Mode parts tasks among the domains of the preferred level where more than
	// one is needed; Spread also where not.
	Mode Mode
	// Slices, of a set only, the widest first: of every Size tasks in the order
	// of their indices all run in one domain of Level (T3).
	Slices []Slice
}

// A Slice is a number of consecutive tasks that share a domain.
type Slice struct {
	// Size is how many tasks; it must be positive.
	Size int32
	// Level is the level of the domain; 0, the whole cluster, asks for nothing.
	Level placement.Level
}

// IsZero reports whether the constraint asks for nothing.
func (c *Constraint) IsZero() bool {
	return c.Required == 0 && c.Preferred == 0 && c.Mode == Pack && len(c.Slices) == 0
}

// valid reports whether it is one that [New] takes; only that of a set has slices.
func (c *Constraint) valid(set bool) bool {
	return c.Required >= 0 && (c.Preferred == 0 || c.Preferred >= c.Required) && c.Mode.Valid() &&
		(set || len(c.Slices) == 0) &&
		!slices.ContainsFunc(c.Slices, func(s Slice) bool { return s.Size <= 0 || s.Level < 0 })
}

// constraints lists them by node of the tree; nil where nothing is asked for.
func constraints(whole Constraint, sets []Set, groups []Group, tree []node) []Constraint {
	out, some := make([]Constraint, len(tree)), false
	for i, n := range tree {
		switch {
		case n.set >= 0:
			out[i] = sets[n.set].Constraint
		case n.group >= 0:
			out[i] = groups[n.group].Constraint
		default:
			out[i] = whole
		}
		if out[i].Preferred == 0 {
			out[i].Preferred = out[i].Required
		}
		some = some || !out[i].IsZero()
	}
	if !some {
		return nil
	}
	return out
}

// appendConstraint appends a constraint in a form that is a prefix of no other's.
func appendConstraint(key []byte, c *Constraint) []byte {
	key = binary.AppendVarint(binary.AppendVarint(append(key, byte(c.Mode)), int64(c.Required)), int64(c.Preferred))
	key = binary.AppendVarint(key, int64(len(c.Slices)))
	for _, s := range c.Slices {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(s.Size)), int64(s.Level))
	}
	return key
}

// Constrained says whether the gang has any constraint (T2), so that its tasks
// have to be placed by [Placer.PlaceWithSiblings].
func (g *Gang) Constrained() bool { return g.bounds != nil }

// Sliced says whether some set has slices (T3), so that it matters which indices
// its tasks have.
func (g *Gang) Sliced() bool {
	return slices.ContainsFunc(g.sets, func(s Set) bool { return len(s.Constraint.Slices) > 0 })
}

// Fitting is how a gang of tasks with whole devices uses nodes (P8).
type Fitting uint8

const (
	// AnyNodes lets the strategy place task by task. It is the zero value.
	AnyNodes Fitting = iota
	// WholeNodes puts what fits one node on one, and all else on idle nodes that
	// it fills, all of one number of devices: the largest that divides the
	// gang's.
	WholeNodes
	// MixedWholeNodes is WholeNodes, but where no one size does, the idle nodes go by
	// size, the largest first, each filled, until nothing is left; if a rest remains
	// that fills none, nothing starts.
	MixedWholeNodes
)

var fittings = [...]string{AnyNodes: "any-nodes", WholeNodes: "whole-nodes", MixedWholeNodes: "mixed-whole-nodes"}

// Valid reports whether f is one of the constants.
func (f Fitting) Valid() bool { return int(f) < len(fittings) }

// String returns the text form: "any-nodes", "whole-nodes" or
// "mixed-whole-nodes".
func (f Fitting) String() string {
	if f.Valid() {
		return fittings[f]
	}
	return fmt.Sprintf("Fitting(%d)", uint8(f))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (f Fitting) MarshalText() ([]byte, error) {
	if !f.Valid() {
		return nil, fmt.Errorf("gang: no Fitting %d", uint8(f))
	}
	return []byte(fittings[f]), nil
}

// UnmarshalText reads the text form; any other text is an error and leaves f as
// it was.
func (f *Fitting) UnmarshalText(text []byte) error {
	for i, known := range fittings {
		if known == string(text) {
			*f = Fitting(i)
			return nil
		}
	}
	return fmt.Errorf("gang: no Fitting %q: there is %s", text, strings.Join(fittings[:], ", "))
}
