package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// auto is the format of whoever leaves it to the content.
const auto = "auto"

// heads are what the first lines of formats with a head have, the more telling first: the
// names of columns, of which all are there.
var heads = []struct {
	format  string
	columns []string
}{
	{"slurm", []string{"jobid|"}},
	{"muri", []string{"job_id", "num_gpu", "iterations", "iteration_time"}},
	{"elasticflow", []string{"job_id", "submission_time", "duration", "num_gpu"}},
	{"helios", []string{"job_id", "gpu_num", "vc", "submit_time"}},
	{"acme", []string{"job_id", "gpu_num", "node_num", "submit_time"}},
	{"openb", []string{"name", "cpu_milli", "num_gpu", "creation_time"}},
	{"philly", []string{"timestamp", "duration", "num_gpus", "cluster"}},
}

// A traceFile is a trace that is open. It is opened once, as it may be a pipe.
type traceFile struct {
	name, format string
	file         *os.File
	text         *bufio.Reader
	err          error // for whoever reads it
}

// openTrace opens a trace of a format, or tells it.
func openTrace(name, format string) *traceFile {
	t := &traceFile{name: name, format: format}
	if t.file, t.err = os.Open(name); t.err != nil {
		return t
	}
	t.text = bufio.NewReaderSize(t.file, headSize)
	if format == auto {
		if t.format, t.err = formatOf(t.text); t.err != nil {
			t.err = fmt.Errorf("%s: %w", name, t.err)
		}
	}
	return t
}

// headSize is how much of a trace tells its format.
const headSize = 64 << 10

// formatOf tells the format of a trace by how it begins, and reads nothing of it.
func formatOf(text *bufio.Reader) (string, error) {
	begin, err := text.Peek(headSize)
	isWhole := errors.Is(err, io.EOF)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) {
		zipped, err := gzip.NewReader(bytes.NewReader(begin))
		if err != nil {
			return "", err
		}
		if begin, err = io.ReadAll(io.LimitReader(zipped, headSize)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return "", err
		}
		if err != nil && isWhole && !bytes.Contains(begin, []byte("\n")) {
			return "", fmt.Errorf("it is cut off in its first line: %w", err)
		}
	}
	begin = bytes.TrimLeft(bytes.TrimPrefix(begin, []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, _ := strings.Cut(string(begin), "\n")
	line = strings.ToLower(strings.TrimSpace(line))
	switch {
	case line == "":
		return "", errors.New("it is empty, or begins with nothing but blanks; -format says which it is")
	case strings.HasPrefix(line, "{"):
		return "native", nil
	case strings.HasPrefix(line, "["):
		return "philly-log", nil
	case strings.HasPrefix(line, ";") || len(strings.Fields(line)) == 18:
		return "swf", nil
	}
	for _, h := range heads {
		if hasAll(strings.ReplaceAll(line, `"`, ""), h.columns) {
			return h.format, nil
		}
	}
	return "", errors.New("its first line is that of none of the formats; -format says which it is")
}

// hasAll says whether a head has the columns; one that ends with a bar is of a head that
// is parted by bars.
func hasAll(line string, columns []string) bool {
	if bar, ok := strings.CutSuffix(columns[0], "|"); ok {
		return strings.Contains("|"+line+"|", "|"+bar+"|") && strings.Contains(line, "|")
	}
	for _, c := range columns {
		if !strings.Contains(","+line+",", ","+c+",") {
			return false
		}
	}
	return true
}
