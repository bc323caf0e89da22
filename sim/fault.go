package sim

import (
	"fmt"
	"time"

	"github.com/allotsched/allot"
)

// A Fault is the error of a run in which something was not as it must be: an unlawful
// plan, or an invariant that does not hold, which is a bug of the library or of this
// package; or a job or change whose state [allot.Check] does not accept.
type Fault struct {
	// At is when.
	At time.Duration
	// State is the state that was decided upon, or what had come of it by then;
	// scenario.Format makes a bug report of it.
	State *allot.State
	// Err says what is wrong.
	Err error
}

// Error says when and what.
func (f *Fault) Error() string { return fmt.Sprintf("sim: at %v: %v", f.At, f.Err) }

// Unwrap is Err.
func (f *Fault) Unwrap() error { return f.Err }

// fault is a Fault of this moment; nil if err is.
func (e *engine) fault(err error) error {
	if err == nil {
		return nil
	}
	return &Fault{At: e.now, State: e.library.state, Err: err}
}

// wrong is a Fault that says what is wrong.
func (e *engine) wrong(format string, values ...any) error {
	return e.fault(fmt.Errorf(format, values...))
}
