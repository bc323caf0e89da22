package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/output"
)

// commands make all commands, in the order of the help.
var commands = []func(*Session) *cobra.Command{
	planCommand,
	listCommand,
	whyCommand,
	helpsCommand,
	whatifCommand,
	fitCommand,
	sharesCommand,
	orderCommand,
	forecastCommand,
	checkCommand,
	verifyCommand,
	minimiseCommand,
	convertCommand,
	reportCommand,
	topologyCommand,
	replayCommand,
	serveCommand,
	importCommand,
	schemaCommand,
}

// garbage is how much of what a command holds may be garbage, in percent, until it holds
// plenty bytes: most commands are short, and end before it matters.
const (
	garbage = 300
	plenty  = 1 << 30
)

// Main runs the program and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(plenty)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	done := make(chan int, 1)
	go func() { done <- run(ctx, newSession(stdin, stdout, stderr), args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	select {
	case code := <-done:
		return code
	case <-time.After(atLast): // what it is at cannot be stopped, and has found nothing
		fmt.Fprintln(stderr, "allot: interrupted")
		return Interrupted
	}
}

// atLast is how long a command may take to end, and to print what it has found, once it is
// interrupted: to sum up a million jobs takes seconds. Who does not want to wait interrupts again.
const atLast = 30 * time.Second

// run is Main in a session that may be another one.
func run(ctx context.Context, s *Session, args []string) int {
	s.ctx = ctx
	root := rootCommand(s)
	args, single := completing(args)
	root.SetArgs(longFlags(root, args))
	root.SetIn(s.Stdin)
	root.SetOut(singleDashes(s.Stdout, single))
	root.SetErr(s.Stderr)
	asked, err := root.ExecuteContextC(ctx)
	return exitCode(s.Stderr, asked.CommandPath(), err)
}

const rootText = `allot answers questions about a GPU cluster: what starts, why a job waits, what a
change would do, who uses what. The state of the cluster is read as YAML or JSON from the
files that -f names (a folder is all files in it, - is standard input), or from the one
that ALLOT_STATE names. Nothing is changed and nothing is kept.

Flags may stand anywhere and be written with one dash or two.
`

func rootCommand(s *Session) *cobra.Command {
	root := &cobra.Command{
		Use:           "allot COMMAND",
		Short:         "answers about a GPU cluster and its scheduling",
		Long:          rootText + "\n" + exitCodes,
		Version:       version(),
		SilenceErrors: true, SilenceUsage: true, SuggestionsMinimumDistance: 2, // letters that are otherwise
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("takes a command")
			}
			text := ""
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
				text = "; did you mean " + strings.Join(like, " or ") + "?"
			}
			return usagef("there is no command %q%s", args[0], text)
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	root.SetVersionTemplate("allot {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringArrayVarP(&s.files, "file", "f", nil, "a `file` of the state; several make one state")
	flags.VarP(&s.format, "output", "o", "how to answer: text, wide (more columns), json or yaml")
	var formats []string
	for _, f := range output.Formats() {
		formats = append(formats, string(f))
	}
	choices(root, "output", formats)
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "tell everything, however many lines it takes")
	for _, makeCommand := range commands {
		cmd := makeCommand(s)
		check := cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check == nil {
				check = cobra.NoArgs
			}
			if what := oneForm(cmd.Name()); what != "" && s.format != output.Text && !(cmd.Name() == "schema" && s.format == output.JSON) {
				return usagef("the answer is %s, and -o has no other form of it", what)
			}
			if err := check(cmd, args); err != nil {
				return &usageError{err}
			}
			return nil
		}
		cmd.DisableFlagsInUseLine = true
		root.AddCommand(cmd)
	}
	return root
}

// oneForm is what a command answers with that has one form only, "" of all others.
func oneForm(command string) string {
	switch command {
	case "report":
		return "a page"
	case "topology":
		return "a picture, or with -html a page"
	case "serve":
		return "pages"
	case "schema":
		return "a JSON Schema"
	}
	return ""
}

// version is what the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	text := info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == "github.com/allotsched/allot" && dep.Replace == nil {
			text += ", library " + dep.Version
		}
	}
	return text
}
