package allot

import (
	"context"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
)

// Foresee is for package explain alone, whose Forecasts tell of it: its type is this module's own. Of a version in
// which a plan has begun it says when and where those are foreseen to start who wait, as if each were promised it
// (B10). Nothing is decided, and what the plan promises stands. The error is the context's or tells of a fault of
// the library.
func (s *Snapshot) Foresee(ctx context.Context, ahead view.Ahead) ([]PlannedReservation, error) {
	w, err := compileFor(s.orZero().nouns.state(), true)
	if err != nil {
		return nil, err
	}
	found, err := engine.Foresee(ctx, w.World, ahead.Most)
	if err != nil {
		return nil, err
	}
	var plan Plan
	w.writeReservations(&plan, found)
	return plan.Reservations, nil
}
