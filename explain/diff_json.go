package explain

import "github.com/allotsched/allot/internal/prose"

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
