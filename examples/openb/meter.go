package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// A meter tells on standard error what is being done, if that is a terminal,
// and at the end how long each stage took.
type meter struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	stage    string
	since    time.Time
	laps     []lap
}

type lap struct {
	stage string
	took  time.Duration
}

func newMeter(w io.Writer, now func() time.Time) *meter {
	m := &meter{w: w, now: now}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return m
}

// begin ends the stage before and begins another.
func (m *meter) begin(stage string) {
	m.end()
	m.stage, m.since = stage, m.now()
	if m.terminal {
		fmt.Fprintf(m.w, "openb: %s …", stage)
	}
}

// end ends the stage, if there is one, and clears its line.
func (m *meter) end() {
	if m.stage == "" {
		return
	}
	m.laps = append(m.laps, lap{m.stage, m.now().Sub(m.since)})
	m.stage = ""
	if m.terminal {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}

func (m *meter) summary(pods int) {
	var b strings.Builder
	for _, l := range m.laps {
		fmt.Fprintf(&b, "%s %s, ", l.stage, l.took.Round(10*time.Microsecond))
		if l.stage == "solve" && pods > 0 {
			fmt.Fprintf(&b, "%s a pod, ", (l.took / time.Duration(pods)).Round(10*time.Nanosecond))
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(m.w, "openb: %s%d MiB from the system\n", b.String(), memory.Sys>>20)
}
