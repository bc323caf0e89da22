package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A comment is a line of prose that may cite rules.
type comment struct {
	file string // relative to the root
	line int
	text string
}

// noRules look like rules and are none: models of GPUs, and percentiles.
var noRules = map[string]bool{"L4": true, "P90": true, "P99": true}

const ruleLetters = "SQFOGPTMCRELXVB"

// judge says what is wrong with the numbers that a line cites. Only documents may
// speak of rules that are not built.
func judge(c comment, book *rulebook, rows map[string]string) (problems []string) {
	text := c.text
	for _, cited := range rowsCited.FindAllStringIndex(text, -1) {
		folder := ""
		if text[cited[0]] == '/' {
			folder = text[strings.LastIndexAny(text[:cited[0]], " \t(`'\",|")+1 : cited[0]]
			folder = folder[strings.LastIndexByte(folder, '/')+1:]
		}
		for _, number := range anyNumber.FindAllString(text[cited[0]:cited[1]], -1) {
			switch at, ok := rows[number]; {
			case folder == "rules" || folder == "topology" || folder == "harm":
				if _, ok := book.built[number]; !ok {
					problems = append(problems, fmt.Sprintf("there is no rule %s", number))
				}
			case folder == "" && !ok || folder != "" && at != folder && slices.Contains(published, folder):
				problems = append(problems, fmt.Sprintf("there is no row %s", strings.TrimPrefix(folder+"/"+number, "/")))
			}
		}
	}
	for _, number := range anyNumber.FindAllString(rowsCited.ReplaceAllString(text, ""), -1) {
		built, isRule := book.built[number]
		folder, isRow := rows[number]
		switch {
		case isRule && !built && path.Ext(c.file) != ".md":
			problems = append(problems, fmt.Sprintf("%s is not built", number))
		case isRule || noRules[number]:
		case isRow:
			problems = append(problems, fmt.Sprintf("%s is no rule: row %[1]s, or %s/%[1]s", number, folder))
		case strings.Contains(ruleLetters, number[:1]):
			problems = append(problems, fmt.Sprintf("there is no rule %s", number))
		}
	}
	return problems
}

var endsInRow = regexp.MustCompile(`\brows?$`)

// continued is a line of prose with the word 'row' before it, if the line before it
// ends with that.
func continued(before, line string) string {
	if row := endsInRow.FindString(strings.TrimSpace(before)); row != "" {
		return row + " " + strings.TrimLeft(line, "/# \t")
	}
	return line
}

// readComments reads all prose of the repository: comments of Go, but for the code
// in them, documents, but for what is quoted in them, comments of scenarios and the
// titles of mutants.
func readComments(t *testing.T) []comment {
	t.Helper()
	found := mutantTitles(t)
	for _, f := range goFiles(t) {
		found = append(found, f.comments()...)
	}
	for _, s := range readScenarios(t) {
		own := s.row != ""
		for i, line := range s.lines {
			if !strings.HasPrefix(line, "#") {
				continue
			}
			if own {
				line, own = strings.Replace(line, s.row, "", 1), false
			}
			found = append(found, comment{"testdata/" + s.name + ".txt", i + 1, line})
		}
	}
	for _, name := range filesBelow(t, ".md") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		quoted := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				quoted = !quoted
			} else if !quoted {
				found = append(found, comment{name, i + 1, line})
			}
		}
	}
	return found
}

// A goFile is a parsed file.
type goFile struct {
	name   string // relative to the root
	fset   *token.FileSet
	syntax *ast.File
}

// comments are the file's, line by line. Lines that a doc comment indents are code.
func (f *goFile) comments() (found []comment) {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			first := f.fset.Position(c.Slash).Line
			for i, line := range strings.Split(c.Text, "\n") {
				if !strings.HasPrefix(line, "//\t") {
					found = append(found, comment{f.name, first + i, line})
				}
			}
		}
	}
	return found
}

// parsed are all Go files of the repository, read once.
var parsed = sync.OnceValues(func() ([]*goFile, error) {
	names, err := walk(".go")
	if err != nil {
		return nil, err
	}
	var files []*goFile
	for _, name := range names {
		f := &goFile{name: name, fset: token.NewFileSet()}
		f.syntax, err = parser.ParseFile(f.fset, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
})

func goFiles(t *testing.T) []*goFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func filesBelow(t *testing.T, ext string) []string {
	t.Helper()
	names, err := walk(ext)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// walk lists the files of the repository with the extension, in the order of their
// paths. This folder's are left out: its tests cite what is no rule.
func walk(ext string) (names []string, err error) {
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		switch {
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata" || below == "internal/rules"):
			return fs.SkipDir
		case !entry.IsDir() && filepath.Ext(file) == ext:
			names = append(names, below)
		}
		return nil
	})
	return names, err
}
