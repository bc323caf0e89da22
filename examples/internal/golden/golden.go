package golden

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/internal/program"
)

var update = flag.Bool("update", false, "write the golden files")

// Check compares a text with a file of testdata.
func Check(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s (-update writes it):\n%s", path, got)
	}
}

// A Case is a run of a program.
type Case struct {
	// File holds what is printed to standard output and then what is printed to
	// standard error; one of them is empty.
	File string
	Args []string
	// Stdin is standard input.
	Stdin string
	// Code is the exit code: with [program.OK] standard error is empty, with any
	// other standard output.
	Code int
}

// Run puts a program to the cases.
func Run(t *testing.T, run func(args []string, stdin io.Reader, stdout, stderr io.Writer) int, cases []Case) {
	for _, c := range cases {
		t.Run(c.File, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(c.Args, strings.NewReader(c.Stdin), &stdout, &stderr); code != c.Code {
				t.Errorf("exit code %d, want %d", code, c.Code)
			}
			if failed := c.Code != program.OK; (stdout.Len() == 0) != failed || (stderr.Len() == 0) == failed {
				t.Errorf("exit code %d with standard output %q and standard error %q", c.Code, &stdout, &stderr)
			}
			Check(t, c.File, stdout.String()+stderr.String())
		})
	}
}
