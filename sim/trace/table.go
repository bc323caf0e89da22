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
	"strconv"
	"time"
)

// plain undoes gzip where content is gzipped.
func plain(content io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(content)
	if head, err := buffered.Peek(2); err != nil || !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, nil // a short file is for its reader to judge
	}
	return gzip.NewReader(buffered)
}

// A row is a line of a CSV file with the names of its columns. The first fault
// stays.
type row struct {
	columns map[string]int
	fields  []string
	line    int
	err     error
}

// readTable calls do for every line of a CSV file whose first line names at least
// the columns.
func readTable(what string, content io.Reader, columns []string, do func(*row)) error {
	text, err := plain(content)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	reader := csv.NewReader(text)
	reader.ReuseRecord = true
	head, err := reader.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r := &row{columns: make(map[string]int, len(head))}
	for i, name := range head {
		r.columns[name] = i
	}
	for _, name := range columns {
		if _, ok := r.columns[name]; !ok {
			return fmt.Errorf("%s: no column %q", what, name)
		}
	}
	for {
		r.fields, err = reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		r.line, _ = reader.FieldPos(0)
		if do(r); r.err != nil {
			return fmt.Errorf("%s: line %d: %w", what, r.line, r.err)
		}
	}
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
		r.err = fmt.Errorf("%s is %q: %s", column, r.text(column), fmt.Sprintf(format, values...))
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
