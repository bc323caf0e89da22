package allot_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

var (
	corpusFile   = flag.String("corpus", "", "write a corpus of states to this file, a line of JSON each")
	corpusStates = flag.Int("corpus.states", 50_000, "random states of the corpus, beside those of all scenarios")
	corpusSeed   = flag.Uint64("corpus.seed", 1, "the first seed of the random states")
)

// TestCorpus writes the states on which plansequal (.ci/tools) compares the
// plans of two commits: those that every solve of every scenario sees, and random
// ones, many of them from lives of clusters on which work is evicted, or promised a time and places.
func TestCorpus(t *testing.T) {
	if *corpusFile == "" {
		t.Skip("no -corpus: plansequal in .ci/tools gives one")
	}
	file, err := os.Create(*corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	buffer := bufio.NewWriter(file)
	c := &corpus{T: t, Encoder: json.NewEncoder(buffer)}
	for _, name := range scenarioFiles(t) {
		c.scenario(name)
	}
	fixed := c.written
	for seed := *corpusSeed; c.written-fixed < *corpusStates; seed++ {
		for _, s := range allot.DrawnStates(seed) {
			c.write(s)
		}
		c.life(seed)
		c.promises(seed)
	}
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states of scenarios, %d random ones", fixed, c.written-fixed)
}

// A corpus is a file of states.
type corpus struct {
	*testing.T
	*json.Encoder
	written int
}

func (c *corpus) write(s *allot.State) {
	c.Helper()
	if err := c.Encode(s); err != nil {
		c.Fatal(err)
	}
	c.written++
}

// scenario writes the states that a scenario's solves see.
func (c *corpus) scenario(name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		c.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "solve") {
			continue
		}
		s, err := scenario.State(strings.Join(lines[:i], ""))
		if err != nil {
			c.Fatalf("%s:%d: %v", name, i+1, err)
		}
		c.write(s)
	}
}

// life writes the states that a cluster of the stability tests comes to: after
// each cause, and after each of the plans that follow.
func (c *corpus) life(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 4))
	h := newStabilityHost(random)
	for range causesPerLife / 2 {
		for range 1 + random.IntN(2) {
			c.write(h.s)
			p, err := allot.Solve(h.s)
			if err != nil {
				c.Fatal(err)
			}
			set := allot.Begin
			if random.IntN(3) == 0 {
				set = allot.Apply
			}
			if h.s, err = set(h.s, p); err != nil {
				c.Fatal(err)
			}
		}
		leave(random, h.s)
		h.change()
	}
}

// promises writes the states that a cluster comes to on which places are promised, as time passes:
// before what is promised, and with it in the state.
func (c *corpus) promises(seed uint64) {
	s, d := drawnTimed(seed), rand.New(rand.NewPCG(seed, 31))
	for step := range 4 {
		c.write(s)
		plan, err := allot.Solve(s)
		if err != nil {
			c.Fatal(err)
		}
		if s, err = allot.Apply(s, plan); err != nil {
			c.Fatal(err)
		}
		s = passTime(d, s, plan, step)
	}
}
