package allot

import (
	"context"
	"errors"
	"testing"
)

// A context that has ended is told, whichever way is gone.
func TestDeskCancelled(t *testing.T) {
	s, err := NewSnapshot(&State{Revision: "idle"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := s.DecideContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", d, err)
	}
}
