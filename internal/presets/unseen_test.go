package presets_test

import (
	"slices"
	"sync"
)

// unseen are the knobs that no row can see turned, and why: the presets (all if none
// is named), the knob, the value (any if empty).
var unseen = []struct {
	presets     []string
	knob, value string
	why         string
	used        bool
}{
	{knob: "Name", why: "it is for people"},
}

var unseenLock sync.Mutex

// excuse is why no row sees the turn; empty if that is nowhere said.
func excuse(preset string, one turn) string {
	unseenLock.Lock()
	defer unseenLock.Unlock()
	for i := range unseen {
		u := &unseen[i]
		if u.knob == one.knob && (u.value == "" || u.value == one.value) && (len(u.presets) == 0 || slices.Contains(u.presets, preset)) {
			u.used = true
			return u.why
		}
	}
	return ""
}
