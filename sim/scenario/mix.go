package scenario

import (
	"slices"

	"github.com/allotsched/allot"
)

// runMix adds a shape to the target mix of a pool.
func (w *world) runMix(st statement) error {
	args, err := arguments(st.args)
	if err != nil {
		return err
	}
	policy, args, err := w.targetPolicy(st, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return st.command.errorf("mix needs a weight")
	}
	if args[0].text == none {
		policy.Scoring.Mix = nil
		args = args[1:]
	} else {
		var shape allot.MixShape
		if shape.Weight, err = integer[int64](args[0].text); err != nil {
			return args[0].errorf("the weight: %v", err)
		}
		for args = args[1:]; len(args) > 0; args = args[1:] {
			known, err := readRequest(args[0], func() *allot.Request { return &shape.Request })
			if err != nil {
				return err
			}
			if !known {
				break
			}
		}
		policy.Scoring.Mix = append(slices.Clip(policy.Scoring.Mix), shape)
	}
	if len(args) > 0 {
		return args[0].unknown("mix")
	}
	return nil
}

// formatMix writes a shape as runMix reads it.
func formatMix(pool string, m *allot.MixShape) string {
	l := newLine("mix")
	l.add("pool", quote(pool))
	l.flag(formatInteger(m.Weight), true)
	l.request(&m.Request)
	return l.String()
}
