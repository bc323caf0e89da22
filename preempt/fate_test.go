package preempt

import "testing"

// The texts of what a ranking tells are stable, and read back.
func TestRankTexts(t *testing.T) {
	for f := Taken; f <= Itself; f++ {
		text, err := f.MarshalText()
		var back Fate
		if err != nil || f.String() == "" || back.UnmarshalText(text) != nil || back != f {
			t.Error(f, err)
		}
	}
	for c := OverShare; c <= WithinQuota; c++ {
		text, err := c.MarshalText()
		var back Class
		if err != nil || back.UnmarshalText(text) != nil || back != c {
			t.Error(c, err)
		}
	}
	for p := Unprotected; p <= QuotaProtected; p++ {
		text, err := p.MarshalText()
		var back Protection
		if err != nil || back.UnmarshalText(text) != nil || back != p {
			t.Error(p, err)
		}
	}
	if Fate(99).String() != "Fate(99)" || new(Fate).UnmarshalText([]byte("x")) == nil {
		t.Error("a fate that there is not")
	}
	if _, err := Fate(99).MarshalText(); err == nil {
		t.Error("a fate that there is not")
	}
}

// What Rank tells is numbered as the search has it.
func TestRankNumbers(t *testing.T) {
	if Protection(none) != Unprotected || Protection(byShare) != ShareProtected || Protection(byQuota) != QuotaProtected {
		t.Error("protections differ")
	}
}
