package prose

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAmount(t *testing.T) {
	for _, row := range []struct {
		resource string
		n        int64
		want     string
		figure   string
	}{
		{gpu, 1000, "1 GPU", "1"}, {gpu, 500, "0.5 GPU", "0.5"}, {gpu, 2000, "2 GPUs", "2"}, {gpu, 0, "0 GPUs", "0"},
		{gpu, 1001, "1.001 GPUs", "1.001"}, {gpu, -1500, "-1.5 GPUs", "-1.5"}, {gpu, math.MinInt64, "-9223372036854775.808 GPUs", "-9223372036854775.808"},
		{cpu, 250, "0.25 CPU", "0.25"}, {memory, 16 << 30, "16 GiB", "16GiB"}, {memory, 1536 << 20, "1536 MiB", "1536MiB"},
		{memory, -2048, "-2 KiB", "-2KiB"}, {memory, 1000, "1000 bytes", "1000"}, {memory, 0, "0 bytes", "0"},
		{"fpga", 3, "3 fpga", "3"}, {"two words", 3, `3 "two words"`, "3"}, {"", 3, "3", "3"},
	} {
		if got := Amount(row.resource, row.n); got != row.want {
			t.Errorf("%s %d: %q, want %q", row.resource, row.n, got, row.want)
		}
		if got := Figure(row.resource, row.n); got != row.figure {
			t.Errorf("%s %d: %q, want %q", row.resource, row.n, got, row.figure)
		}
	}
}

func TestMember(t *testing.T) {
	for want, row := range map[string][2]string{ // each by itself
		"w": {"", "w"}, "q/w": {"q", "w"}, "q/v": {"q", "q/v"}, "q/qv": {"q", "qv"}, `"q/a b"`: {"q", "a b"},
	} {
		if got := Member(row[0], row[1]); got != want {
			t.Errorf("%v: %s, want %s", row, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for want, places := range map[string][]Place{ // each by itself
		"":                      nil,
		"n0[0-1] n0[2]":         {{"n0", []int{0, 1}}, {"n0", []int{2}}},
		"n1*2 n1[0] n1 \"n 2\"": {{Node: "n1"}, {Node: "n1"}, {"n1", []int{0}}, {Node: "n1"}, {Node: "n 2"}},
	} {
		if got := Places(places); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := Numbered("w", []int{0, 1, 3}) + Numbered("", []int{7}); got != "w[0-1,3][7]" {
		t.Error(got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{-1: "-1 tasks", 0: "0 tasks", 1: "1 task", 2: "2 tasks"} { // in any order
		if got := Count(n, "task"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestThousandths: the text is the number, exactly, and as short as it can be.
func TestThousandths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		text := Thousandths(n)
		whole, rest, fraction := strings.Cut(text, ".")
		if strings.HasSuffix(rest, "0") || fraction && rest == "" || len(rest) > 3 {
			t.Fatalf("%q", text)
		}
		if back, err := strconv.ParseInt(whole+rest+strings.Repeat("0", 3-len(rest)), 10, 64); err != nil || back != n {
			t.Fatalf("%d is told as %q", n, text)
		}
	})
}

// TestBytes: number and unit are the bytes, exactly, and no larger unit is.
func TestBytes(t *testing.T) {
	sizes := []struct {
		unit string
		size int64
	}{{"bytes", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1<<30, 1<<30).Draw(t, "n") << rapid.IntRange(0, 32).Draw(t, "shift")
		number, unit := Bytes(n)
		back, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range sizes {
			if s.unit != unit {
				continue
			}
			if back*s.size != n || n != 0 && i+1 < len(sizes) && n%sizes[i+1].size == 0 {
				t.Fatalf("%d is told as %s %s", n, number, unit)
			}
			return
		}
		t.Fatalf("no unit %s", unit)
	})
}

// TestRanges: reading the text back gives the numbers.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var numbers, back []int
		for i := range 40 {
			if rapid.Bool().Draw(t, "has") {
				numbers = append(numbers, i)
			}
		}
		text := Ranges(numbers)
		for _, part := range strings.Split(strings.Trim(text, "[]"), ",") {
			first, last, run := strings.Cut(part, "-")
			if part == "" {
				continue
			}
			from, _ := strconv.Atoi(first)
			to := from
			if run {
				to, _ = strconv.Atoi(last)
			}
			if n := len(back); n > 0 && back[n-1]+1 == from {
				t.Fatalf("%q parts a run", text)
			}
			for ; from <= to; from++ {
				back = append(back, from)
			}
		}
		if len(back) != len(numbers) {
			t.Fatalf("%v is told as %q", numbers, text)
		}
		for i := range back {
			if back[i] != numbers[i] {
				t.Fatalf("%v is told as %q", numbers, text)
			}
		}
	})
}

// TestWord: a word has no spaces outside its quotes, and gives the name back.
func TestWord(t *testing.T) {
	for name, want := range map[string]string{ // in any order
		"n1": "n1", "q1/wf3": "q1/wf3", "": `""`, "two words": `"two words"`, `a"b`: `"a\"b"`, "n[0]": `"n[0]"`,
		"a,b": `"a,b"`, "n*3": `"n*3"`, "tab\t": `"tab\t"`, "größe": "größe", "\x00": `"\x00"`,
	} {
		if got := Word(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		word := Word(name)
		if strings.HasPrefix(word, `"`) {
			var err error
			if word, err = strconv.Unquote(word); err != nil {
				t.Fatal(err)
			}
		} else if strings.ContainsAny(word, " \t\n") {
			t.Fatalf("%q is not one word", word)
		}
		if word != name {
			t.Fatalf("%q reads back as %q", name, word)
		}
	})
}

func TestLists(t *testing.T) {
	names := []string{"a", "b c", "d"}
	for _, row := range []struct{ got, want string }{
		{Words(nil), ""}, {Words(names), `a "b c" d`}, {strings.Join(Each(names), ", "), `a, "b c", d`},
		{Some(names, ", ", 3), "a, b c, d"}, {Some(names, " ", 1), "a and 2 more"}, {Some(nil, ", ", 3), ""},
		{OrNone(""), "-"}, {OrNone("a b"), `"a b"`}, {Dashed(true, "x"), "x"}, {Dashed(false, "x"), "-"},
	} {
		if row.got != row.want {
			t.Errorf("%q, want %q", row.got, row.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for n, want := range map[int64]string{0: "0s", 59: "59s", 3599: "59m59s", 3600: "1h0m0s", 90_061: "25h1m1s", math.MaxInt64: "2562047788015215h30m7s"} { // in any order
		if got := Seconds(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestInstant(t *testing.T) {
	east := time.FixedZone("", 3600)
	for _, row := range []struct {
		at   time.Time
		want string
	}{
		{time.Time{}, "never"}, {time.Time{}.In(east), "never"},
		{time.Date(2026, 1, 31, 13, 0, 0, 1000, east), "2026-01-31T12:00:00.000001Z"},
	} {
		if got := Instant(row.at); got != row.want {
			t.Errorf("%v: %q, want %q", row.at, got, row.want)
		}
	}
}

type colour uint8

var colourNames = []string{1: "red", 2: "green"}

// TestNames: texts come back as their values, and nothing else does.
func TestNames(t *testing.T) {
	for value := range colour(4) {
		text, err := MarshalName("colour", colourNames, value)
		if known := value == 1 || value == 2; Known(colourNames, value) != known || (err == nil) != known {
			t.Errorf("%d: %v", value, err)
		} else if !known {
			if got, want := Name("Colour", colourNames, value), "Colour("+Decimal(int(value))+")"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			continue
		}
		var back colour
		if err := UnmarshalName("colour", colourNames, &back, text); err != nil || back != value || Name("Colour", colourNames, value) != string(text) {
			t.Errorf("%q is %d, and not %d: %v", text, back, value, err)
		}
	}
	for _, text := range []string{"", "Red", "red "} {
		back := colour(2)
		if err := UnmarshalName("colour", colourNames, &back, []byte(text)); err == nil || back != 2 {
			t.Errorf("%q is taken for %d", text, back)
		} else if !strings.Contains(err.Error(), "colour") {
			t.Error(err)
		}
	}
}

func TestTables(t *testing.T) {
	cells := [][]string{{"a", "bbb"}, {"aaaa", "b"}, {"", "größe"}}
	for _, row := range []struct{ got, want string }{
		{Align("x\t", cells), "x  a     bbb\nx  aaaa  b\nx        größe\n"},
		{AlignFigures(cells), "a       bbb\naaaa      b\n      größe\n"},
		{AlignFigures([][]string{{"a", "1", "2"}, {"bb", "", ""}}), "a   1  2\nbb\n"},
		{Align("", nil) + AlignFigures(nil), ""},
		{Indent("one\n two\n"), "  one\n   two\n"},
	} {
		if row.got != row.want {
			t.Errorf("%q, want %q", row.got, row.want)
		}
	}
}
