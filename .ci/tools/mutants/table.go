package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A mutant is a row of the table, and what came of it.
type mutant struct {
	number   int // 1 for the first of those that are tried
	rule     string
	killer   string // the test that is known to notice; "" where the row names none
	file     string
	old, new string
	alone    bool // it is built by itself
	lines    [2]int
	verdict  string
	by       string // the test that noticed, or why it could not be tried
	took     time.Duration
}

const (
	noticed  = "killed"
	survives = "SURVIVED"
	broken   = "BROKEN" // it does not compile, or its text stands nowhere
)

// parse reads the blocks of the table.
func parse(table string) (mutants []*mutant) {
	for block := range strings.SplitSeq(table, "\n\n") {
		m := &mutant{}
		var old, new []string
		for line := range strings.SplitSeq(strings.TrimRight(block, "\n"), "\n") {
			switch {
			case strings.HasPrefix(line, "# ") && m.rule != "": // TestTable tells of one that there is not
				m.killer = line[2:]
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "- "):
				old = append(old, line[2:])
			case strings.HasPrefix(line, "+ "):
				new = append(new, line[2:])
			case m.rule == "":
				m.rule = line
			default:
				m.file = line
			}
		}
		m.old, m.new = strings.Join(old, "\n"), strings.Join(new, "\n")
		if m.rule != "" {
			mutants = append(mutants, m)
		}
	}
	return mutants
}

// choose keeps the rows that contain one of the texts, and numbers them.
func choose(mutants []*mutant, only []string) (chosen []*mutant) {
	for _, m := range mutants {
		text := m.rule + " " + m.killer + " " + m.file
		if slices.ContainsFunc(only, func(o string) bool { return strings.Contains(text, o) }) {
			chosen = append(chosen, m)
			m.number = len(chosen)
		}
	}
	return chosen
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`)

// testFolders are the folders of all tests of the module, by name.
func testFolders(repo string) (map[string][]string, error) {
	folders := make(map[string][]string)
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		inside, err := filepath.Rel(repo, filepath.Dir(path))
		if err != nil || strings.HasPrefix(inside, ".ci") || strings.HasPrefix(inside, "examples") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range declaration.FindAllSubmatch(source, -1) {
			folders[string(found[1])] = append(folders[string(found[1])], inside)
		}
		return err
	})
	return folders, err
}
