// Controller shows.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/allotsched/allot"
)

func main() {
	seed := flag.Uint64("seed", 1, "")
	seconds := flag.Int("seconds", 400, "")
	flag.Parse()
	run(*seed, *seconds, os.Stdout)
}

func run(seed uint64, seconds int, out io.Writer) {
	policy := allot.RunAI()
	policy.CheckpointOnEviction = true
	w := newWorld(seed, policy, faults{lost: 10, twice: 10, fails: 5, unanswered: 5, delay: 5, lag: 3, slow: 30}, out)
	for range seconds {
		w.happen()
		w.step()
	}
	fmt.Fprintln(out, w.calm(2000), w.cluster.broken, w.deaths, w.unsound())
	r, _ := w.store.Read()
	p, _ := allot.Solve(r.State)
	fmt.Fprintln(out, p.Text())
}
