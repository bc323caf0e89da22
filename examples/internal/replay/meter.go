package replay

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/allotsched/allot/sim"
)

// A Meter tells how far the runs are: on a terminal in a line that it writes over,
// elsewhere in a line every ten seconds.
type Meter struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	mutex    sync.Mutex
	began    time.Time
	told     time.Time
	runs     []sim.Progress
	ended    int
}

// NewMeter is the meter of so many runs, by a clock.
func NewMeter(w io.Writer, terminal bool, now func() time.Time, runs int) *Meter {
	m := &Meter{w: w, terminal: terminal, now: now, began: now(), runs: make([]sim.Progress, runs)}
	m.told = m.began
	return m
}

// progress takes in how far a run is.
func (m *Meter) progress(i int, p sim.Progress) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.runs[i] = p
	often := 10 * time.Second
	if m.terminal {
		often = 200 * time.Millisecond
	}
	if now := m.now(); now.Sub(m.told) >= often {
		m.told = now
		m.tell(now)
	}
}

// tell writes the line: the simulated time of the furthest, events per second, and the
// time that is left if it goes on like this.
func (m *Meter) tell(now time.Time) {
	var events int64
	var simulated time.Duration
	part := float64(m.ended)
	for i := range m.runs {
		p := &m.runs[i]
		events += p.Events
		if p.Jobs > 0 && p.Ended < p.Jobs {
			part += float64(p.Arrived+p.Ended) / float64(2*p.Jobs)
			simulated = max(simulated, p.Now)
		}
	}
	took := now.Sub(m.began).Seconds()
	left := "?"
	if part > 0 && took > 0 {
		left = time.Duration(took * (float64(len(m.runs)) - part) / part * float64(time.Second)).Round(time.Second).String()
	}
	line := "replay: %s\n"
	if m.terminal {
		line = "\r\x1b[Kreplay: %s"
	}
	fmt.Fprintf(m.w, line, fmt.Sprintf("%d of %d runs, at %s, %.0f events/s, %s left", m.ended, len(m.runs), simulated.Round(time.Hour), float64(events)/max(took, 1e-3), left))
}

// done takes in that a run is over.
func (m *Meter) done(i int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.ended++
	m.runs[i].Ended = m.runs[i].Jobs
}

// End clears the line.
func (m *Meter) End() {
	if m.terminal {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
