package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
)

func TestGolden(t *testing.T) {
	command := func(args []string, _ io.Reader, stdout, stderr io.Writer) int { return run(args, stdout, stderr) }
	golden.Run(t, command, []golden.Case{
		{File: "story.txt"},
		{File: "unverified.txt", Args: []string{"-seconds", "60", "-verify=false"}},
		{File: "help.txt", Args: []string{"-h"}},
		{File: "flag.txt", Args: []string{"-nodes", "3"}, Code: program.Usage},
		{File: "argument.txt", Args: []string{"7"}, Code: program.Usage},
		{File: "seconds.txt", Args: []string{"-seconds", "-1"}, Code: program.Usage},
	})
}

// One seed, one story, and another seed another one.
func TestSeedIsTheStory(t *testing.T) {
	var first, again, other bytes.Buffer
	for i, out := range []*bytes.Buffer{&first, &again, &other} {
		seed := []string{"5", "5", "6"}[i]
		if code := run([]string{"-seed", seed, "-seconds", "60"}, out, out); code != program.OK {
			t.Fatal(out.String())
		}
	}
	if first.String() != again.String() || first.String() == other.String() {
		t.Error("the seed does not decide the story")
	}
}
