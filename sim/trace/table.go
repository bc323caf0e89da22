package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/sim"
)

// plain undoes gzip where content is gzipped, and passes the mark of UTF-8. A small file may be a large one when it is
// unzipped: a line longer than most, more than so many lines, or more blanks in a row than
// maxBlank, is an error.
func plain(content io.Reader, most, lines int) (io.Reader, error) {
	if content == nil {
		return nil, errors.New("there is nothing to read")
	}
	text := bufio.NewReader(content)
	if head, err := text.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) { // a short file is for its reader to judge
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, err
		}
		text = bufio.NewReader(unzipped)
	}
	const mark = "\ufeff"
	if head, err := text.Peek(len(mark)); err == nil && string(head) == mark {
		if _, err := text.Discard(len(mark)); err != nil {
			return nil, err
		}
	}
	return &bounded{text: text, most: most, lines: lines}, nil
}

const (
	// maxBlank is how many blanks and ends of lines may follow each other.
	maxBlank = 1 << 20
	// maxLines is how many lines a file may have that has a job in each, of which a million
	// take 0.8 GB: more than the largest of the published logs have.
	maxLines = 1 << 21
)

// A bounded reader gives text whose lines, and whose gaps, are of a bounded length, and no
// more than so many lines.
type bounded struct {
	text        io.Reader
	most, lines int
	line, blank int
	ends        int // of lines
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	for _, c := range p[:n] {
		b.line++
		b.blank++
		switch c {
		case '\n':
			b.line = 0
			b.ends++
		case ' ', '\t', '\r':
		default:
			b.blank = 0
		}
		if b.line > b.most || b.blank > maxBlank {
			return 0, fmt.Errorf("a line is longer than %d bytes, or more than %d are blank", b.most, maxBlank)
		}
	}
	if b.ends > b.lines {
		return 0, fmt.Errorf("it has more than %d lines", b.lines)
	}
	return n, err
}

// A row is a line of a CSV file with the names of its columns. The first fault
// stays, and the column of it.
type row struct {
	columns map[string]int
	fields  []string
	line    int
	kind    string
	err     error
	// submit is when its job was submitted, if timed.
	submit time.Duration
	timed  bool
}

// maxTableLine is the longest line of a table that is read.
const maxTableLine = 1 << 20

// A form is how the lines of a table are written.
type form struct {
	comma rune
	// loose: quotes mean nothing.
	loose bool
	// columns are the names that the first line of a file may leave out.
	columns []string
	// either are columns of each of which a file has one at least.
	either [][]string
	// beside are all that a file may have beside the columns that it must; nil is any.
	beside []string
}

var plainCSV = form{comma: ','}

// leaveOut says that the line is left out, of which kind that is, and why.
func (r *row) leaveOut(kind, why string) {
	if r.err == nil {
		r.kind, r.err = kind, errors.New(why)
	}
}

// maxLeftOut bounds how much of a file may be left out: beyond it the file is another.
const maxLeftOut = 1 << 20

// leave adds what is left out to an input, with an error where it is too much.
func leave(in *sim.Input, left sim.LeftOut) error {
	if len(in.LeftOut) >= maxLeftOut {
		return fmt.Errorf("more than %d lines are left out: %s", maxLeftOut, left.Why)
	}
	in.LeftOut = append(in.LeftOut, left)
	return nil
}

// readLog makes a job of every line of a log, but of those of which job makes none though
// they have no fault. Of what has one it is told.
func (f form) readLog(what string, content io.Reader, in *sim.Input, id string, columns []string, job func(*row) *sim.Job) error {
	return f.read(what, content, append(columns, id), func(r *row) error {
		var j *sim.Job
		if r.err == nil {
			j = job(r)
		}
		switch {
		case r.err != nil:
			return leave(in, sim.LeftOut{
				Line: r.line, Job: strings.Clone(r.text(id)), Submit: r.submit, Timed: r.timed, Kind: r.kind, Why: r.err.Error(),
			})
		case j != nil:
			j.Line, j.Name = r.line, cmp.Or(j.Workload.ID, strings.Clone(r.text(id)))
			in.Jobs = append(in.Jobs, *j)
		}
		return nil
	})
}

// readJobs makes a job of every line of a CSV file whose first line names at least the
// columns, id among them. Of what makes none it is told why.
func readJobs(what string, content io.Reader, in *sim.Input, id string, columns []string, do func(*row) sim.Job) error {
	return plainCSV.readLog(what, content, in, id, columns, func(r *row) *sim.Job {
		j := do(r)
		return &j
	})
}

// readBeside calls do for every line of a file that comes beside the jobs, of nodes or tenants, whose first
// line names at least the columns. What has a fault is left out of the input, as one of a kind.
func (f form) readBeside(what, kind string, content io.Reader, in *sim.Input, columns []string, do func(*row)) error {
	return f.read(what, content, columns, func(r *row) error {
		if r.err == nil {
			do(r)
		}
		if r.err == nil {
			return nil
		}
		return leave(in, sim.LeftOut{Line: r.line, Kind: kind, Why: fmt.Sprintf("%s: %v", what, r.err)})
	})
}

// none is the error of an input of which nothing is there that must be, with what was left out of it.
func none(in *sim.Input, err error) error {
	if len(in.LeftOut) == 0 {
		return err
	}
	return fmt.Errorf("%w: %w", err, &sim.BadInputError{List: in.LeftOut})
}

// read calls do for every line that is not empty, also where it has too few or too many fields, or quotes
// that do not match, which is a fault of the row. Quotes that a line leaves open end with it: the
// rows behind are none of its own.
func (f form) read(what string, content io.Reader, columns []string, do func(*row) error) error {
	text, err := plain(content, maxTableLine, maxLines)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 2*maxTableLine) // of a longer one the text says so itself
	var r *row
	var width int
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" {
			continue
		}
		begins := r == nil
		if begins {
			if r, width, err = f.begin(line, columns); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if r.fields == nil {
				continue
			}
		}
		r.line, r.kind, r.err, r.submit, r.timed = n, "", nil, 0, false
		if r.fields, err = f.fields(line, r.fields[:0]); err != nil {
			r.kind, r.err, r.fields = "quotes", err, nil
		} else if len(r.fields) != width {
			r.kind, r.err = "columns", fmt.Errorf("it has %d columns, not %d", len(r.fields), width)
		}
		if err := do(r); err != nil {
			return fmt.Errorf("%s: line %d: %w", what, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if r == nil {
		return fmt.Errorf("%s: it is empty", what)
	}
	return nil
}

// fields are those of a line, behind those of into.
func (f form) fields(line string, into []string) ([]string, error) {
	if f.loose || !strings.Contains(line, `"`) {
		for field := range strings.SplitSeq(line, string(f.comma)) {
			into = append(into, field)
		}
		return into, nil
	}
	reader := csv.NewReader(strings.NewReader(line))
	reader.Comma = f.comma
	fields, err := reader.Read()
	var odd *csv.ParseError
	if errors.As(err, &odd) {
		err = odd.Err
	}
	return append(into, fields...), err
}

// begin reads the names of the columns, and says how many there are. The row has fields where the first line
// is none of names but a row.
func (f form) begin(first string, columns []string) (r *row, width int, err error) {
	names, err := f.fields(first, nil)
	if err != nil {
		return nil, 0, err
	}
	r = &row{columns: make(map[string]int, len(names))}
	if f.columns != nil && len(names) == len(f.columns) && !slices.Contains(names, f.columns[0]) {
		r.fields, names = names, f.columns
	}
	for i, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if _, known := r.columns[name]; known {
			return nil, 0, fmt.Errorf("it has two columns %q", name)
		}
		r.columns[name] = i
	}
	return r, len(names), f.check(r, columns)
}

// check finds fault with columns that are not there, or say nothing.
func (f form) check(r *row, columns []string) error {
	for _, name := range columns {
		if _, ok := r.columns[name]; !ok {
			return fmt.Errorf("no column %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.columns)) {
		if f.beside != nil && !slices.Contains(columns, name) && !slices.Contains(f.beside, name) {
			return fmt.Errorf("a column %q says nothing: beside %s there may be %s", name, strings.Join(columns, ", "), strings.Join(f.beside, ", "))
		}
	}
	for _, names := range f.either {
		if !slices.ContainsFunc(names, func(name string) bool { _, ok := r.columns[name]; return ok }) {
			return fmt.Errorf("no column %s", strings.Join(names, " or "))
		}
	}
	return nil
}

// text is a field; of a column that the file does not have it is empty.
func (r *row) text(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.fields) {
		return r.fields[i]
	}
	return ""
}

func (r *row) fail(column string, format string, values ...any) {
	if r.err == nil {
		r.kind = column
		r.err = fmt.Errorf("%s is %q: %s", column, r.text(column), fmt.Sprintf(format, values...))
	}
}

// arrives notes when the job was submitted, which is read before all else of its row.
func (r *row) arrives(at time.Duration) time.Duration {
	if r.timed = r.err == nil; r.timed {
		r.submit = at
	}
	return at
}

// number is a whole number within bounds.
func (r *row) number(column string, least, most int64) int64 {
	n, err := strconv.ParseInt(r.text(column), 10, 64)
	if err != nil || n < least || n > most {
		r.fail(column, "must be a whole number from %d to %d", least, most)
		return least
	}
	return n
}

// maxTime bounds the instants and durations that are read: a hundred years.
const maxTime = 100 * 365 * 24 * time.Hour

// times is a decimal number of units as a time, exact to the nanosecond.
func (r *row) times(column string, unit time.Duration) time.Duration {
	t, err := timeOf(r.text(column), unit)
	if err != nil {
		r.fail(column, "%v", err)
	}
	return t
}

// duration is times that is more than none.
func (r *row) duration(column string, unit time.Duration) time.Duration {
	t := r.times(column, unit)
	if t == 0 {
		r.fail(column, "it takes no time")
	}
	return t
}

// timeOf reads a decimal number of units as a time; below a nanosecond it is cut.
func timeOf(text string, unit time.Duration) (time.Duration, error) {
	value, ok := decimal(text)
	if !ok {
		return 0, errors.New("must be a number of digits and a point")
	}
	value.Mul(value, new(big.Rat).SetInt64(int64(unit)))
	n := new(big.Int).Quo(value.Num(), value.Denom())
	if n.Sign() < 0 || n.Cmp(big.NewInt(int64(maxTime))) > 0 {
		return 0, fmt.Errorf("must be from 0 to %d years", int(maxTime/(365*24*time.Hour)))
	}
	return time.Duration(n.Int64()), nil
}

// decimal reads a number of digits and a point, with a sign or without.
func decimal(text string) (*big.Rat, bool) {
	const longest = 64
	digits := strings.TrimLeft(text, "+-")
	if len(text) > longest || len(text)-len(digits) > 1 || strings.Trim(digits, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
