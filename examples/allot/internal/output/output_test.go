package output

import (
	"strings"
	"testing"
)

func TestHuman(t *testing.T) {
	for text, want := range map[string]string{ // each by itself: order cannot matter
		"has 222232714MiB free": "has 211.9TiB free", "asks 48 GiB": "asks 48 GiB", "10240 GiB in all": "10 TiB in all",
		"12345 GPUs": "12345 GPUs", "123456789012 bytes": "114.9 GiB", "1023 MiB and 99999KiB": "1023 MiB and 97.6MiB",
	} {
		if got := human(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestPage: colours say nothing that the text does not, and lines have a width.
func TestPage(t *testing.T) {
	write := func(colour bool) string {
		p := &Page{Colour: colour}
		p.Line(Bold, "title")
		p.Heading("part")
		p.Prose("  - ", "    ", Green, strings.Repeat("word ", 40)+"end")
		p.Table("  ", [][]Cell{{Words("name"), Number("count")}, {Words("a"), {Text: "10", Style: Red, Right: true}}})
		p.Text("head\n  below: it\n  a  b\n")
		return string(p.Bytes())
	}
	plain, coloured := write(false), write(true)
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[1mtitle\x1b[0m") {
		t.Errorf("%q and %q", plain, coloured)
	}
	for code := range strings.SplitSeq("1 2 31 32 33 34 0", " ") {
		coloured = strings.ReplaceAll(coloured, "\x1b["+code+"m", "")
	}
	if plain != coloured {
		t.Errorf("without its colours %q is not %q", coloured, plain)
	}
	for line := range strings.Lines(plain) {
		if len(line) > lineWidth+1 {
			t.Errorf("a line of %d letters", len(line))
		}
	}
}
