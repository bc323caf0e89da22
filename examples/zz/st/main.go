// This program is put into a checkout of the module: it solves the states that
// it reads, a line of JSON each, and prints a digest of each plan.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/allotsched/allot"
)

func main() {
	uncounted, renames := os.Args[1] == "uncounted", strings.NewReplacer(os.Args[2:]...)
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		text := renames.Replace(answer(line))
		if uncounted {
			text = work.ReplaceAllString(text, "")
		}
		fmt.Fprintf(out, "%x\n", sha256.Sum256([]byte(text)))
	}
}

// answer is the plan of a state in JSON, or what hindered it.
func answer(line []byte) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("panic: ", r)
		}
	}()
	var s allot.State
	if err := json.Unmarshal(line, &s); err != nil {
		return "refused: " + err.Error()
	}
	p, err := allot.Solve(&s)
	if err != nil {
		return "error: " + err.Error()
	}
	data, err := json.Marshal(p)
	if err != nil {
		return "error: " + err.Error()
	}
	return version.ReplaceAllString(string(data), "{")
}

// version is the number of the JSON form, which is no part of a decision.
var version = regexp.MustCompile(`^{"version":[0-9]+,?`)

// work is what a solve counted of its own cost.
var work = regexp.MustCompile(`"work":{[^}]*}`)
