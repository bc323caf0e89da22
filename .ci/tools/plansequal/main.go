// Plansequal says whether two commits make the same plans, byte for byte: what
// a change that moves or renames must show.
//
// The states are those that every solve of the scenarios sees and random ones
// of all generators (TestCorpus of the newer commit writes them, at least 50,000
// by default; -by-base has the older commit write them). A small program is put
// into a checkout of either commit; it solves every state and prints a digest of
// the plan in JSON, Work included, or of the error. What differs is told by its
// line in the corpus, and the first such state is printed.
//
//	go -C .ci/tools run ./plansequal -C "$PWD" -base COMMIT
//
// A word of the JSON form that was renamed in between is given as
// -rename old=new, which is applied to what the older commit writes; the number of
// the form's version does not count. With -uncounted Work is left out: a search that comes
// to the same end for less counts less.
//
// Exit status: 0 if all plans are equal, 1 if not, 2 if it could not tell.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/allotsched/allot/.ci/tools/internal/history"
)

//go:embed solve.go.txt
var program []byte

// A comparison is of what two commits make of one corpus.
type comparison struct {
	repo       string // the repository's folder
	base, head string // commits
	corpus     string // the file of states; "" has one of the commits write it
	byBase     bool   // the older commit writes it
	states     int    // how many random ones it writes
	uncounted  bool   // Work is left out
	renames    pairs  // words of the older commit's JSON, each followed by the newer one
}

// pairs are values of the form old=new, flattened.
type pairs []string

func (p *pairs) String() string { return strings.Join(*p, " ") }

func (p *pairs) Set(text string) error {
	before, after, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%q is not old=new", text)
	}
	*p = append(*p, strconv.Quote(before), strconv.Quote(after))
	return nil
}

func main() {
	var c comparison
	flag.StringVar(&c.repo, "C", ".", "the repository's `folder`")
	flag.StringVar(&c.base, "base", "", "the older `commit`")
	flag.StringVar(&c.head, "head", "HEAD", "the newer `commit`")
	flag.StringVar(&c.corpus, "corpus", "", "a `file` of states, a line of JSON each, in place of a new corpus")
	flag.BoolVar(&c.byBase, "by-base", false, "have the older commit's generators write the new corpus, where they were changed since")
	flag.IntVar(&c.states, "states", 50_000, "random states of a new corpus")
	flag.BoolVar(&c.uncounted, "uncounted", false, "leave Work out, which tells what solving cost")
	flag.Var(&c.renames, "rename", "`old=new`: a string of the older commit's JSON and what it is called now; may be repeated")
	flag.Parse()
	if c.base == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	differing, err := c.run(os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "plansequal:", err)
		os.Exit(2)
	case differing > 0:
		os.Exit(1)
	}
}

// run compares, tells what differs, and returns how many plans do.
func (c *comparison) run(out io.Writer) (differing int, err error) {
	folder, err := os.MkdirTemp("", "plansequal")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	older, newer := filepath.Join(folder, "base"), filepath.Join(folder, "head")
	for tree, commit := range map[string]string{older: c.base, newer: c.head} { // each is exported by itself
		if err := export(c.repo, commit, tree); err != nil {
			return 0, err
		}
	}
	corpus := c.corpus
	if corpus == "" {
		corpus = filepath.Join(folder, "corpus.jsonl")
		writer := newer
		if c.byBase {
			writer = older
		}
		if err := write(writer, corpus, c.states); err != nil {
			return 0, err
		}
	}
	before, err := c.solve(older, corpus, c.renames)
	if err != nil {
		return 0, err
	}
	after, err := c.solve(newer, corpus, nil)
	if err != nil {
		return 0, err
	}
	if len(before) != len(after) || len(before) == 0 {
		return 0, fmt.Errorf("%d digests of %s, %d of %s", len(before), c.base, len(after), c.head)
	}
	var first int
	for i := range before {
		if before[i] != after[i] {
			if differing++; differing == 1 {
				first = i
			}
			if differing <= 20 {
				fmt.Fprintf(out, "line %d of the corpus: the plans differ\n", i+1)
			}
		}
	}
	fmt.Fprintf(out, "%d states, %d plans differ\n", len(before), differing)
	if differing > 0 {
		return differing, tell(out, corpus, first)
	}
	return 0, nil
}

// export puts a commit and the program into a folder.
func export(repo, commit, tree string) error {
	if err := history.Export(repo, commit, tree, func(string) bool { return true }); err != nil {
		return err
	}
	folder := filepath.Join(tree, "plansequal")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "main.go"), program, 0o666)
}

// write has a commit's generators write the corpus.
func write(tree, corpus string, states int) error {
	command := exec.Command("go", "test", "-timeout=1h", "-run=^TestCorpus$", ".", "-corpus="+corpus, "-corpus.states="+strconv.Itoa(states))
	command.Dir = tree
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("writing the corpus: %w\n%s", err, out)
	}
	return nil
}

// solve is a digest of what a commit makes of each state.
func (c *comparison) solve(tree, corpus string, renames []string) ([]string, error) {
	in, err := os.Open(corpus)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var problem bytes.Buffer
	counted := "counted"
	if c.uncounted {
		counted = "uncounted"
	}
	command := exec.Command("go", append([]string{"run", "./plansequal", counted}, renames...)...)
	command.Dir, command.Stdin, command.Stderr = tree, in, &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("solving the corpus: %w\n%s", err, &problem)
	}
	return strings.Fields(string(out)), nil
}

// tell prints one state of the corpus.
func tell(out io.Writer, corpus string, index int) error {
	file, err := os.Open(corpus)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for range index {
		if _, err := reader.ReadBytes('\n'); err != nil {
			return err
		}
	}
	state, err := reader.ReadBytes('\n')
	if err == nil || err == io.EOF { // the last line may end with the file
		_, err = out.Write(state)
	}
	return err
}
