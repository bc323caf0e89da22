package words

import (
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// Every reason for which work waits has a title in plain words.
func TestCodeTitles(t *testing.T) {
	for c := allot.ImpossibleNode; !strings.HasPrefix(c.String(), "Code("); c++ {
		if _, ok := codeTitles[c.String()]; !ok {
			t.Errorf("%s has no title", c)
		}
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		Letters(0): "A", Letters(25): "Z", Letters(26): "AA", Letters(701): "ZZ", Letters(702): "AAA",
		Amount(allot.GPU, 500): "0.5 GPU", Amount(allot.Memory, 3<<40): "3 TiB", Figure(allot.CPU, 2500): "2.5", Bytes(1536): "1.5 KiB",
		Ranges([]int{0, 1, 2, 4, 6, 7}): "0–2, 4, 6–7", Percent(1<<52, 1<<53): "50%", WorkName("a", "a/b"): "a/b", WorkName("a", "b"): "a/b",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if CompareNames("n2", "n10") >= 0 || CompareNames("n02", "n2") == 0 || CompareNames("a", "a") != 0 {
		t.Error("names are not in the order of people")
	}
}
