package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/edit"
)

// The completion of what is typed in a shell: names come from the state that the line names
// so far.

// choices completes a flag that takes one of some words.
func choices(cmd *cobra.Command, flag string, words []string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag, which every run would find
	}
}

// asFiles picks the files of the state of a command whose arguments are all such files.
func asFiles(args []string) []string { return args }

// butFirst picks them of a command whose first argument is something else.
func butFirst(args []string) []string { return args[min(1, len(args)):] }

// named completes from the state, which the arguments that files picks name as well.
func (s *Session) named(files func([]string) []string, names func(st *allot.State, begun string) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		d, err := s.Document(files(args)...)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names(d.State, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeQueues completes the flag -queue of a command.
func (s *Session) completeQueues(cmd *cobra.Command, files func([]string) []string) {
	completeFlag(cmd, "queue", s.named(files, func(st *allot.State, begun string) []string {
		return edit.Begun(begun, edit.QueueNames(st))
	}))
}

// completeJobs completes the name of a job, which is the first argument.
func (s *Session) completeJobs(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return s.named(asFiles, edit.JobNames)(cmd, args, begun)
}

// completeEdits completes the flags that say edits.
func (s *Session) completeEdits(cmd *cobra.Command) {
	for _, k := range edit.Kinds() {
		if k.OfFiles() {
			continue // as the shell does
		}
		names := s.named(asFiles, k.Complete)
		completeFlag(cmd, k.Name, func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			whole, directive := names(cmd, args, begun)
			if len(whole) > 0 && strings.HasSuffix(whole[0], "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return whole, directive
		})
	}
}

// completing are the arguments of a question of the shell for how its last word may go on,
// where that is a flag with one dash written as with two, and whether it is.
func completing(args []string) ([]string, bool) {
	last := len(args) - 1
	if last < 1 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return args, false
	}
	begun := args[last]
	if len(begun) < 2 || begun[0] != '-' || begun[1] == '-' || strings.Contains(begun, "=") {
		return args, false
	}
	return append(args[:last:last], "-"+begun), true
}

// singleDashes writes flags with one dash, where they are wanted so: a shell drops what does
// not begin as the word does.
func singleDashes(w io.Writer, wanted bool) io.Writer {
	if !wanted {
		return w
	}
	return &dashWriter{w}
}

type dashWriter struct{ to io.Writer }

func (w *dashWriter) Write(text []byte) (int, error) {
	if bytes.HasPrefix(text, []byte("--")) {
		_, err := w.to.Write(text[1:])
		return len(text), err
	}
	return w.to.Write(text)
}
