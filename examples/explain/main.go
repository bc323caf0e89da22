// Command explain answers people's questions about a state: who gets what and
// why, what would help what waits, what a change would do. Its answers are the
// library's, as text for a terminal, as JSON, or as a report in HTML that needs
// nothing but a browser. explain -h tells all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/internal/prose"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, wantsColour(os.Stdout)))
}

// wantsColour says whether the file is a terminal that should have colours:
// NO_COLOR, set to anything, is the user's no.
func wantsColour(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// A command is one of the questions.
type command struct {
	name string
	// arguments are its arguments as they stand in a usage; those in brackets
	// may be left out.
	arguments string
	about     string
	// more is what its own help says besides.
	more string
	// flags adds the flags that only it has; nil adds none.
	flags func(*flag.FlagSet, *options)
	// noJSON: it answers in a form of its own.
	noJSON bool
	answer func(*asked) error
}

// options are the flags of all commands.
type options struct {
	json bool
	// ask is how many GPUs a queue would ask for; 0 is no such question.
	ask int
	// solves bounds the search for what would help; 0 leaves it to the library.
	solves int
	// helps is for how many of each kind that wait the report tells what would
	// help; below 0 that depends on how large the state is.
	helps int
}

// asked is a question: a command with what it is given, and where its answer
// goes.
type asked struct {
	options
	args  []string
	stdin io.Reader
	page
}

// commands are all commands, in the order of the usage.
func commands() []command {
	return []command{
		explainCommand(),
		queueCommand(),
		whatifCommand(),
		fitCommand(),
		sharesCommand(),
		reportCommand(),
		minimiseCommand(),
	}
}

const usage = `Usage: explain COMMAND [flags] ARGUMENTS

Answers questions about a state, which is read as JSON from a file, or from
standard input where the file is -.

`

const usageEnd = `
explain COMMAND -h tells the rest. Flags may stand anywhere after the command. On
a terminal the text has colours, unless NO_COLOR is set.

Exit codes: 0 answered, 1 the input is malformed (every fault is printed to
standard error, with its path), cannot be read, or does not name what is asked
about, 2 usage.
`

// writeUsage lists the commands.
func writeUsage(w io.Writer) {
	fmt.Fprint(w, usage)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-36s %s\n", c.name+" "+c.arguments, c.about)
	}
	fmt.Fprint(w, usageEnd)
}

// run is the program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, colour bool) int {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help") {
		writeUsage(stdout)
		return program.OK
	}
	c, err := named(args)
	if err != nil {
		fmt.Fprintf(stderr, "explain: %v; explain -h lists the commands\n", err)
		return program.Usage
	}
	q, err := parse(c, args[1:], stdout)
	if errors.Is(err, flag.ErrHelp) {
		return program.OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "explain %s: %v; explain %[1]s -h shows the usage\n", c.name, err)
		return program.Usage
	}
	q.stdin, q.page.colour = stdin, colour
	if err := c.answer(q); err != nil {
		complain(stderr, err)
		return program.Failed
	}
	if _, err := stdout.Write(q.text.Bytes()); err != nil {
		complain(stderr, err)
		return program.Failed
	}
	return program.OK
}

// named finds the command that the arguments begin with.
func named(args []string) (command, error) {
	if len(args) == 0 {
		return command{}, errors.New("takes a command")
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c, nil
		}
	}
	return command{}, fmt.Errorf("there is no command %q", args[0])
}

// parse reads the flags and arguments of a command. The error is flag.ErrHelp
// where help is asked for, and has been given.
func parse(c command, args []string, stdout io.Writer) (*asked, error) {
	q := &asked{}
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	if !c.noJSON {
		flags.BoolVar(&q.json, "json", false, "answer as JSON")
	}
	if c.flags != nil {
		c.flags(flags, &q.options)
	}
	before := fmt.Sprintf("Usage: explain %s [flags] %s\n\n%s\n%s\n", c.name, c.arguments, upperFirst(c.about)+".", c.more)
	for rest := args; ; rest = flags.Args()[1:] {
		if err := program.Parse(flags, rest, stdout, before, ""); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			break
		}
		q.args = append(q.args, flags.Arg(0))
	}
	want := strings.Fields(c.arguments)
	least := len(want)
	for least > 0 && strings.HasPrefix(want[least-1], "[") {
		least--
	}
	if len(q.args) < least || len(q.args) > len(want) {
		return nil, fmt.Errorf("takes %s, got %s", c.arguments, prose.Count(len(q.args), "argument"))
	}
	inputs := 0
	for _, arg := range q.args {
		if arg == "-" {
			inputs++
		}
	}
	if inputs > 1 {
		return nil, errors.New("standard input can be read once only")
	}
	if q.ask < 0 || q.solves < 0 {
		return nil, errors.New("a number must not be negative")
	}
	return q, nil
}

// complain prints an error; of a malformed input every fault, a line each,
// with its path and code.
func complain(w io.Writer, err error) {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		fmt.Fprintln(w, "explain:", err)
		return
	}
	from := ""
	if in := (*inputError)(nil); errors.As(err, &in) {
		from = in.file + ": "
	}
	for _, fault := range invalid.Faults {
		fmt.Fprintf(w, "explain: %s%s (%s)\n", from, fault, fault.Code)
	}
}
