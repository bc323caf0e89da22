package cli

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/words"
)

// Flags are written with one dash or two, and who mistypes one is told the nearest.

// longFlags writes flags of several letters with two dashes, as the library for commands
// wants them, also those that are none: of them it then tells the whole name. What a flag
// takes stays as it is, and so do several short flags in one.
func longFlags(root *cobra.Command, args []string) []string {
	takes := map[string]bool{"help": false, "version": false}
	note := func(f *pflag.Flag) {
		takes[f.Name] = f.NoOptDefVal == ""
		if f.Shorthand != "" {
			takes[f.Shorthand] = f.NoOptDefVal == ""
		}
	}
	root.PersistentFlags().VisitAll(note)
	var names []string
	for _, c := range root.Commands() {
		c.Flags().VisitAll(note)
	}
	for name := range takes { // looked for among them: order cannot matter
		names = append(names, name)
	}
	out := slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, _, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		if !strings.HasPrefix(args[i], "-") || name == "" {
			continue
		}
		takesNext, known := takes[name]
		if !strings.HasPrefix(args[i], "--") && len(name) > 1 && (known || mistyped(root, name, names)) {
			out[i] = "-" + args[i]
		}
		if takesNext && !hasValue {
			i++
		}
	}
	return out
}

// mistyped says whether what follows one dash, and is no flag of several letters, is meant
// as one: it is no number and no short flag with what it takes.
func mistyped(root *cobra.Command, name string, known []string) bool {
	first, rest := name[:1], name[1:]
	short := root.PersistentFlags().ShorthandLookup(first)
	switch {
	case strings.Contains("0123456789.", first):
		return false
	case short == nil:
		return true
	case short.NoOptDefVal != "": // several in one
		return rest[0] != '=' && root.PersistentFlags().ShorthandLookup(rest[:1]) == nil
	case len(words.Like(name, known)) == 0:
		return false
	case short.Name == "output":
		return !slices.Contains(output.Formats(), output.Format(strings.TrimPrefix(rest, "=")))
	}
	_, err := os.Stat(rest)
	return err != nil
}

// flagError is the error about a flag: of one that does not exist with those that it may
// have been meant for.
func flagError(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return &usageError{err}
	}
	name := none.GetSpecifiedName()
	if all := none.GetSpecifiedShortnames(); all != "" {
		name = all
	}
	var known, others []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	for _, c := range cmd.Root().Commands() {
		if c.LocalNonPersistentFlags().Lookup(name) != nil {
			others = append(others, c.Name())
		}
	}
	switch like := words.Like(name, known); {
	case len(like) > 0:
		return usagef("there is no flag -%s; did you mean -%s?", name, strings.Join(like, " or -"))
	case len(others) > 0:
		return usagef("%s has no flag -%s, but %s has", cmd.Name(), name, strings.Join(others, " and "))
	}
	return usagef("there is no flag -%s", name)
}
