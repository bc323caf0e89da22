package allot

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

// MarshalJSON is the canonical JSON of d, with the errors of
// [State.MarshalJSON].
func (d Difference) MarshalJSON() ([]byte, error) { return writeDocument(differenceForm, &d) }

// UnmarshalJSON replaces d by what data says, as strictly and with the errors
// of [State.UnmarshalJSON].
func (d *Difference) UnmarshalJSON(data []byte) error {
	var read Difference
	if err := readDocument(data, differenceForm, &read); err != nil {
		return err
	}
	*d = read
	return nil
}

// MarshalJSON is the canonical JSON of c, with the errors of
// [State.MarshalJSON].
func (c Consequences) MarshalJSON() ([]byte, error) { return writeDocument(consequencesForm, &c) }

// UnmarshalJSON replaces c by what data says, as strictly and with the errors
// of [State.UnmarshalJSON].
func (c *Consequences) UnmarshalJSON(data []byte) error {
	var read Consequences
	if err := readDocument(data, consequencesForm, &read); err != nil {
		return err
	}
	*c = read
	return nil
}
