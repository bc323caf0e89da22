package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/sim"
)

// maxRow is the longest line of a table that is read, and the most white space in a row.
const maxRow = 1 << 20

// plain undoes gzip where content is gzipped. What comes of it has no line longer than
// longest, nor more white space in a row than maxRow: a small file can hold a lot of it.
func plain(content io.Reader, longest int) (io.Reader, error) {
	if content == nil {
		return nil, errors.New("there is no content")
	}
	buffered := bufio.NewReader(content)
	if head, err := buffered.Peek(2); err != nil || !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return &bounded{from: buffered, longest: longest}, nil // a short file is for its reader to judge
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, err
	}
	return &bounded{from: unzipped, longest: longest}, nil
}

// A bounded reader ends with an error at a line that is too long, or too much white space.
type bounded struct {
	from                 io.Reader
	longest, line, blank int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	for _, c := range p[:n] {
		b.line, b.blank = b.line+1, b.blank+1
		switch {
		case c == '\n':
			b.line = 0
		case c != ' ' && c != '\t' && c != '\r':
			b.blank = 0
		}
		if b.line > b.longest {
			return 0, fmt.Errorf("a line is longer than %d bytes", b.longest)
		}
		if b.blank > maxRow {
			return 0, fmt.Errorf("there are more than %d bytes of white space in a row", maxRow)
		}
	}
	return n, err
}

// A row is a line of a CSV file with the names of its columns. The first fault
// stays, with what kind of fault it is: the column, or a word.
type row struct {
	columns map[string]int
	fields  []string
	line    int
	kind    string
	err     error
}

// A form is how the lines of a table are written.
type form struct {
	comma rune
	// loose: quotes mean nothing.
	loose bool
	// columns are the names that the first line of a file may leave out.
	columns []string
}

var plainCSV = form{comma: ','}

// readTable calls do for every line of a CSV file whose first line names at least
// the columns. The first line that is wrong ends it.
func readTable(what string, content io.Reader, columns []string, do func(*row)) error {
	return plainCSV.read(what, content, columns, func(r *row) error {
		if r.err == nil {
			do(r)
		}
		if r.err != nil {
			return fmt.Errorf("%s: line %d: %w", what, r.line, r.err)
		}
		return nil
	})
}

// read calls do for every line; a line that is none of the form has its err set.
func (f form) read(what string, content io.Reader, columns []string, do func(*row) error) error {
	text, err := plain(content, maxRow)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	reader := csv.NewReader(text)
	reader.ReuseRecord, reader.Comma, reader.LazyQuotes = true, f.comma, f.loose
	head, err := reader.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r := &row{columns: make(map[string]int, len(head))}
	first := head
	if f.columns != nil && !slices.Contains(head, f.columns[0]) {
		if len(head) != len(f.columns) {
			return fmt.Errorf("%s: line 1: has %d fields, not %d", what, len(head), len(f.columns))
		}
		first, r.fields, r.line = f.columns, head, 1
	}
	for i, name := range first {
		r.columns[strings.TrimPrefix(name, "\ufeff")] = i
	}
	for _, name := range columns {
		if _, ok := r.columns[name]; !ok {
			return fmt.Errorf("%s: no column %q", what, name)
		}
	}
	if r.fields != nil {
		if err := do(r); err != nil {
			return err
		}
	}
	for {
		r.kind, r.err = "", nil
		r.fields, err = reader.Read()
		var odd *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &odd):
			r.line, r.kind, r.err = odd.StartLine, "line", odd.Err
			if len(r.fields) < len(r.columns) {
				r.fields = append(slices.Clone(r.fields), make([]string, len(r.columns)-len(r.fields))...)
			}
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		default:
			r.line, _ = reader.FieldPos(0)
		}
		if err := do(r); err != nil {
			return err
		}
	}
}

// maxLeftOut bounds how much of a trace may be left out: beyond it the file is another.
const maxLeftOut = 1 << 20

// readJobs makes a job of every line, as far as job makes one: it is left out where the
// line has a fault. id is the column with the names of the jobs, empty where there is none.
func (f form) readJobs(what string, content io.Reader, in *sim.Input, id string, columns []string, job func(*row) *sim.Job) error {
	return f.read(what, content, columns, func(r *row) error {
		var j *sim.Job
		if r.err == nil {
			j = job(r)
		}
		if r.err != nil {
			if len(in.LeftOut) >= maxLeftOut {
				return fmt.Errorf("%s: more than %d lines are none of a trace, the last line %d: %w", what, maxLeftOut, r.line, r.err)
			}
			in.LeftOut = append(in.LeftOut, sim.LeftOut{Line: r.line, Job: strings.Clone(r.text(id)), Kind: r.kind, Why: r.err.Error()})
		} else if j != nil {
			in.Jobs = append(in.Jobs, *j)
		}
		return nil
	})
}

// text is a field; of a column that the file does not have it is empty.
func (r *row) text(column string) string {
	if i, ok := r.columns[column]; ok {
		return r.fields[i]
	}
	return ""
}

func (r *row) fail(column string, format string, values ...any) {
	if r.err == nil {
		r.kind, r.err = column, fmt.Errorf("%s is %q: %s", column, r.text(column), fmt.Sprintf(format, values...))
	}
}

// leaveOut says that the line makes no job, of which kind it is, and why.
func (r *row) leaveOut(kind, why string) {
	if r.err == nil {
		r.kind, r.err = kind, errors.New(why)
	}
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

// timeOf reads a decimal number of units as a time; below a nanosecond it is cut.
func timeOf(text string, unit time.Duration) (time.Duration, error) {
	const longest = 64 // of a number: what it makes of 1e999999999 would not end
	if len(text) > longest || strings.ContainsAny(text, "eEpP/xX_") {
		return 0, errors.New("must be a number with digits and a point alone")
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, errors.New("must be a number")
	}
	value.Mul(value, new(big.Rat).SetInt64(int64(unit)))
	n := new(big.Int).Quo(value.Num(), value.Denom())
	if n.Sign() < 0 || n.Cmp(big.NewInt(int64(maxTime))) > 0 {
		return 0, fmt.Errorf("must be from 0 to %d years", int(maxTime/(365*24*time.Hour)))
	}
	return time.Duration(n.Int64()), nil
}
