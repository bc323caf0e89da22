package main

import (
	"cmp"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
)

// A breaking is an incompatible change.
type breaking struct {
	message string
	// names are the identifiers any of which, in the change log, names it.
	names []string
}

// compare lists the incompatible changes from old to new, by message.
func compare(old, new map[string]*api) []breaking {
	var out []breaking
	for path, before := range old { // sorted below
		after, ok := new[path]
		if !ok {
			out = append(out, breaking{"package " + before.name + ": removed", []string{"package " + before.name}})
			continue
		}
		for _, change := range apidiff.Changes(before.types, after.types).Changes {
			if !change.Compatible {
				out = append(out, breaking{before.name + ": " + change.Message, namesOf(before, change.Message)})
			}
		}
	}
	slices.SortFunc(out, func(a, b breaking) int { return cmp.Compare(a.message, b.message) })
	return out
}

var (
	methodSet  = regexp.MustCompile(`^.*\.(\w+), method set of \*?(\w+)$`)
	typeParams = regexp.MustCompile(`\[[^\]]*\]`)
)

// namesOf are the names of what a message of apidiff is about: package and
// identifier, without stars, parentheses and type parameters. The value of a
// constant may also be named by its type, for one more in the middle of an
// enumeration changes all those after it.
func namesOf(p *api, message string) []string {
	subject, what, _ := strings.Cut(message, ": ")
	subject = methodSet.ReplaceAllString(subject, "$2.$1")
	subject, _, _ = strings.Cut(subject, ",")
	subject = typeParams.ReplaceAllString(subject, "")
	subject = strings.NewReplacer("(", "", ")", "", "*", "").Replace(subject)
	names := []string{p.name + "." + subject}
	if constant, ok := p.types.Scope().Lookup(subject).(*types.Const); ok && strings.HasPrefix(what, "value changed") {
		if named, ok := constant.Type().(*types.Named); ok && named.Obj().Pkg() == p.types {
			names = append(names, p.name+"."+named.Obj().Name())
		}
	}
	return names
}

// newSections returns the sections of a change log that count for changes
// since an older version of it: Unreleased, and those that are new.
func newSections(log, old string) string {
	known := make(map[string]bool)
	for _, section := range sections(old) {
		known[heading(section)] = true
	}
	var out strings.Builder
	for _, section := range sections(log) {
		if !known[heading(section)] || strings.Contains(heading(section), "Unreleased") {
			out.WriteString(section)
		}
	}
	return out.String()
}

// sections cuts a change log at its headings of the second level; what stands
// before the first is no section.
func sections(log string) []string {
	parts := strings.Split("\n"+log, "\n## ")
	return parts[1:]
}

func heading(section string) string {
	line, _, _ := strings.Cut(section, "\n")
	return strings.TrimSpace(line)
}

// named says whether the text has one of the names in backquotes.
func named(text string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, "`"+name+"`") })
}
