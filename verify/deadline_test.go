package verify

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// B11: of two the earlier latest start goes first, before any without one, and of the same, whatever their nanoseconds
// are, the older.
func TestDeadlinesAreInMicroseconds(t *testing.T) {
	waits := func(id string, start time.Time) *allot.Workload {
		return &allot.Workload{ID: id, Deadline: allot.Deadline{Start: start}}
	}
	for _, c := range []struct {
		why           string
		first, second *allot.Workload
	}{
		{"the earlier", waits("b", sceneNow), waits("a", sceneNow.Add(time.Microsecond))},
		{"one that has one", waits("b", sceneNow), waits("a", time.Time{})},
		{"the older of the same microsecond", waits("a", sceneNow.Add(2)), waits("b", sceneNow.Add(1))},
		{"the older of two without", waits("a", time.Time{}), waits("b", time.Time{})},
	} {
		if !startsFirst(c.first, c.second) || startsFirst(c.second, c.first) {
			t.Errorf("%s does not go first", c.why)
		}
	}
}
