package openb

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// The shipped tables, by the name that they have in errors: the shapes of the nodes
// and pods of the trace and how often each occurs.
const (
	NodeShapesFile = "node_shapes.csv"
	PodShapesFile  = "pod_shapes.csv"
)

// NodeShapes and PodShapes are the shipped tables.
var (
	//go:embed node_shapes.csv
	NodeShapes []byte
	//go:embed pod_shapes.csv
	PodShapes []byte
)

// The columns of the files. A table of shapes has a count in place of a name.
const (
	ColumnCount   = "count"
	ColumnNode    = "sn"
	ColumnPod     = "name"
	ColumnCPU     = "cpu_milli"
	ColumnMemory  = "memory_mib"
	ColumnGPUs    = "gpu"
	ColumnModel   = "model"
	ColumnDevices = "num_gpu"
	ColumnMilli   = "gpu_milli"
	ColumnSpec    = "gpu_spec"
)

// The bounds of what a file may say. They keep every sum far from overflow.
const (
	MaxAmount = 1 << 40
	MaxMiB    = 1 << 32
	MaxGPUs   = 64
	maxCount  = 1 << 20
)

// ModelSeparator stands between the models that a pod accepts.
const ModelSeparator = "|"

// A Row gives access to a line's fields by column and keeps its first fault.
type Row struct {
	columns map[string]int
	fields  []string
	// Count is how many nodes or pods the line stands for.
	Count int
	err   error // without the place
}

// Has reports whether the file has the column.
func (r *Row) Has(column string) bool { _, ok := r.columns[column]; return ok }

// Text is the field, empty where the file has no such column.
func (r *Row) Text(column string) string {
	if i, ok := r.columns[column]; ok {
		return r.fields[i]
	}
	return ""
}

// Number is the field as a whole number; it is a fault if it is none from least to
// most.
func (r *Row) Number(column string, least, most int64) int64 {
	n, err := strconv.ParseInt(r.Text(column), 10, 64)
	if err != nil || n < least || n > most {
		r.Fail(column, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

// Fail notes what a field must be, unless there has been a fault before.
func (r *Row) Fail(column, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s %s, is %q", column, want, r.Text(column))
	}
}

// ReadTable calls each for every line of a CSV file with a header, plain or
// gzipped. Lines are named by the column name, uniquely, or have a column
// count instead; needed are the other columns that must be there. Every error
// begins with file:line.
func ReadTable(file string, content io.Reader, name string, needed []string, each func(*Row)) error {
	lines, err := decompress(content)
	if err != nil {
		return fmt.Errorf("%s:1: %w", file, err)
	}
	table := csv.NewReader(lines)
	table.Comment = '#'
	fields, err := table.Read()
	if err != nil {
		return readError(file, 1, err)
	}
	line, _ := table.FieldPos(0)
	r := Row{columns: make(map[string]int, len(fields)), Count: 1}
	for i, column := range fields {
		r.columns[column] = i
	}
	if r.Has(ColumnCount) {
		name = ColumnCount
	}
	for _, column := range append([]string{name}, needed...) {
		if !r.Has(column) {
			return fmt.Errorf("%s:%d: no column %s", file, line, column)
		}
	}
	seen := make(map[string]int)
	for {
		if r.fields, err = table.Read(); err == io.EOF {
			return nil
		} else if err != nil {
			return readError(file, line+1, err)
		}
		line, _ = table.FieldPos(0)
		if name == ColumnCount {
			r.Count = int(r.Number(ColumnCount, 0, maxCount))
		} else if id := r.Text(name); id == "" {
			r.Fail(name, "must not be empty")
		} else if first := seen[id]; first > 0 {
			r.Fail(name, fmt.Sprintf("must be unique, stands in line %d too", first))
		} else {
			seen[id] = line
		}
		if r.err == nil {
			each(&r)
		}
		if r.err != nil {
			return fmt.Errorf("%s:%d: %w", file, line, r.err)
		}
	}
}

// readError places an error of the CSV reader, which knows the line itself
// where the text is no CSV; otherwise the bytes end early or are no gzip.
func readError(file string, line int, err error) error {
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s:%d: %w", file, syntax.Line, syntax.Err)
	case err == io.EOF:
		return fmt.Errorf("%s:%d: no header", file, line)
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// decompress reads gzip where the content begins with gzip's magic number.
func decompress(content io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(content)
	magic, err := buffered.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil // what is wrong with it, the CSV reader will say
	}
	return gzip.NewReader(buffered)
}

// WithFile calls read with the file, or with the shipped table if there is no name.
func WithFile(file, shippedName string, shipped []byte, read func(name string, content io.Reader) error) error {
	if file == "" {
		return read(shippedName, bytes.NewReader(shipped))
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(file, f)
}
