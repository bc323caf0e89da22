package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A slowdown is a benchmark that takes significantly more of a unit than before.
type slowdown struct {
	name, unit string
	percent    float64
}

func (s slowdown) String() string {
	return fmt.Sprintf("%s takes %.0f%% more %s", s.name, s.percent, s.unit)
}

// judged are the units of which more is worse.
var judged = []string{"sec/op", "B/op", "allocs/op"}

// significance is benchstat's alpha. With six runs on each side it takes about
// all of one to be slower than all of the other.
const significance = "0.01"

// compare has benchstat compare results: its table, and what has become slower by
// more than the threshold, in percent.
func compare(base, head []byte, threshold float64) (table string, slower []slowdown, err error) {
	folder, err := os.MkdirTemp("", "benchgate-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(folder)
	arguments := []string{"tool", "benchstat", "-alpha", significance, "-filter", ".unit:(" + strings.Join(judged, " OR ") + ")"}
	for _, side := range []struct {
		name    string
		results []byte
	}{{"base", base}, {"head", head}} {
		path := filepath.Join(folder, side.name)
		if err := os.WriteFile(path, side.results, 0o666); err != nil {
			return "", nil, err
		}
		arguments = append(arguments, side.name+"="+path)
	}
	text, err := benchstat(arguments)
	if err != nil {
		return "", nil, err
	}
	values, err := benchstat(slices.Insert(arguments, 2, "-format", "csv"))
	if err != nil {
		return "", nil, err
	}
	slower, err = slowdowns(values, threshold)
	return string(text), slower, err
}

// benchstat runs in this module, which has it as a tool.
func benchstat(arguments []string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("benchstat: %w\n%s", err, &problem)
	}
	return out, nil
}

var processors = regexp.MustCompile(`-\d+$`)

// slowdowns reads benchstat's table as CSV. A row is: name, base, its interval,
// head, its interval, the difference (~ where it is not significant), p. A row
// that only one side has is shorter or has an empty cell.
func slowdowns(table []byte, threshold float64) (slower []slowdown, err error) {
	reader := csv.NewReader(bytes.NewReader(table))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	unit := ""
	for _, row := range rows {
		if len(row) < 6 {
			continue
		}
		if row[0] == "" {
			if row[5] == "vs base" {
				unit = row[1]
			}
			continue
		}
		if row[1] == "" || row[3] == "" || row[5] == "~" || row[5] == "" || row[0] == "geomean" {
			continue
		}
		before, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return nil, fmt.Errorf("benchstat: %q: %w", row, err)
		}
		after, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			return nil, fmt.Errorf("benchstat: %q: %w", row, err)
		}
		if percent := 100 * (after - before) / before; percent > threshold {
			slower = append(slower, slowdown{processors.ReplaceAllString(row[0], ""), unit, percent})
		}
	}
	return slower, nil
}

// repeated are those that were slower before as well.
func repeated(now, before []slowdown) (both []slowdown) {
	for _, s := range now {
		if slices.ContainsFunc(before, func(t slowdown) bool { return s.name == t.name && s.unit == t.unit }) {
			both = append(both, s)
		}
	}
	return both
}
