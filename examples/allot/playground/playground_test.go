package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// The memory of a wasm gets its limit, and what is no wasm is refused.
func TestLimitMemory(t *testing.T) {
	head := []byte("\x00asm\x01\x00\x00\x00")
	module := slices.Concat(head, []byte{0, 2, 1, 'x'}, []byte{5, 3, 1, 0, 17}, []byte{10, 2, 1, 0})
	got, err := limitMemory(module, 8192)
	want := slices.Concat(head, []byte{0, 2, 1, 'x'}, []byte{5, 5, 1, 1, 17, 0x80, 0x40}, []byte{10, 2, 1, 0})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	for _, bad := range [][]byte{nil, head, []byte("nothing at all"), module[:len(module)-5], slices.Concat(head, []byte{5, 4, 1, 1, 17, 18}), slices.Concat(head, []byte{5, 0xff, 0xff, 0xff, 0xff, 0xff})} {
		if _, err := limitMemory(bad, 8192); err == nil {
			t.Errorf("%v is taken for a wasm", bad)
		}
	}
}

func TestExamples(t *testing.T) {
	examples, err := examplesOf("../../../testdata/rules")
	if err != nil || len(examples) < 100 {
		t.Fatal(len(examples), err)
	}
	numbers := 0
	for _, g := range groupsOf(examples) {
		for _, e := range g.Examples {
			if e.Number != numbers || e.Title == "" {
				t.Errorf("%s: %d %q", e.Name, e.Number, e.Title)
			}
			numbers++
		}
	}
	if numbers != len(examples) {
		t.Errorf("%d of %d examples in groups", numbers, len(examples))
	}
	if _, err := examplesOf(t.TempDir()); err == nil {
		t.Error("a folder without examples will do")
	}
}

// TestBuild builds the page: a minute, and so only where the long tests run (ALLOT_DEEP).
func TestBuild(t *testing.T) {
	if os.Getenv("ALLOT_DEEP") == "" {
		t.Skip("builds the wasm only with ALLOT_DEEP")
	}
	t.Chdir("..")
	var pages [2]bytes.Buffer
	for i := range pages {
		if err := build(&pages[i], "../../testdata/rules"); err != nil {
			t.Fatal(err)
		}
	}
	page := pages[0].String()
	if page != pages[1].String() {
		t.Error("the second build has other bytes")
	}
	if len(page) > 9<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, what := range []string{" src=", "http-equiv=\"refresh\"", "@import", "connect-src"} {
		if strings.Contains(page, what) {
			t.Errorf("the page has %q", what)
		}
	}
}
