package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
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

// formatOf tells the format of a trace by how it begins.
func formatOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	from := bufio.NewReader(f)
	if two, err := from.Peek(2); err == nil && two[0] == 0x1f && two[1] == 0x8b {
		zipped, err := gzip.NewReader(from)
		if err != nil {
			return "", err
		}
		from = bufio.NewReader(zipped)
	}
	const enough = 64 << 10
	begin := make([]byte, enough)
	n, err := io.ReadFull(from, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	begin = bytes.TrimLeft(bytes.TrimPrefix(begin[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, _ := strings.Cut(string(begin), "\n")
	line = strings.ToLower(strings.TrimSpace(line))
	switch {
	case strings.HasPrefix(line, "{"):
		return "native", nil
	case strings.HasPrefix(line, "["):
		return "philly-log", nil
	case strings.HasPrefix(line, ";") || len(strings.Fields(line)) == 18:
		return "swf", nil
	}
	for _, h := range heads {
		if hasAll(line, h.columns) {
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
