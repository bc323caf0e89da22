package sim_test

import (
	"io"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// dataFolder finds ../shared/data seen from the repository.
func dataFolder(t testing.TB) string {
	at, err := os.Getwd()
	for err == nil && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		folder := filepath.Join(at, "shared", "data")
		if _, err := os.Stat(folder); err == nil {
			return folder
		}
	}
	t.Skip("no folder shared/data above this one: the traces of REPLAY.md are not here")
	return ""
}

// dataFile opens a file of the shared data.
func dataFile(t testing.TB, name string) io.Reader {
	f, err := os.Open(filepath.Join(dataFolder(t), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// meanCompletion is the mean job completion time in seconds.
func meanCompletion(r *sim.Result, digits int) string {
	sum := new(big.Int)
	for i := range r.Jobs {
		sum.Add(sum, big.NewInt(int64(r.Jobs[i].CompletionTime())))
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).Mul(big.NewInt(int64(len(r.Jobs))), big.NewInt(int64(time.Second)))).FloatString(digits)
}

// TestKnownAnswers replays every row of REPLAY.md to the last printed digit.
func TestKnownAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds each")
	}
	six := func(t *testing.T) (*sim.Input, error) {
		return trace.ElasticFlow(dataFile(t, "elasticflow/cluster06.csv.gz"), 12)
	}
	three := func(t *testing.T) (*sim.Input, error) { return trace.Muri(dataFile(t, "muri/trace3.csv.gz"), 8) }
	for _, c := range []struct {
		name           string
		read           func(*testing.T) (*sim.Input, error)
		scheduler      sim.Scheduler
		mean, makespan string
		digits         int
	}{
		{"elasticflow06", six, sim.FIFO(), "382263.101", "5620854", 3},
		{"elasticflow06", six, sim.FirstFit(), "140000.511", "5459321", 3},
		{"elasticflow06", six, sim.SRTF(), "40408.902", "5738135", 3},
		{"elasticflow06", six, sim.SRSF(), "41165.469", "5920302", 3},
		{"elasticflow06", six, sim.LAS(), "76815.454", "5621292", 3},
		{"muri3", three, sim.SRTF(), "190377.377380", "8173902.669030", 6},
		{"muri3", three, sim.SRSF(), "183965.977985", "8173902.669030", 6},
		{"muri3", three, sim.LAS(), "340306.277096", "8173902.669030", 6},
	} {
		t.Run(c.name+"/"+c.scheduler.Name, func(t *testing.T) {
			in, err := c.read(t)
			if err != nil {
				t.Fatal(err)
			}
			r, err := sim.Run(in, sim.Options{Scheduler: c.scheduler, NoVerify: true, NoReasons: true})
			if err != nil {
				t.Fatal(err)
			}
			digits := 0
			if c.digits == 6 {
				digits = 6
			}
			if mean, makespan := meanCompletion(r, c.digits), sim.Seconds(r.Makespan).Text(digits); mean != c.mean || makespan != c.makespan {
				t.Errorf("mean JCT %s, makespan %s; published are %s and %s", mean, makespan, c.mean, c.makespan)
			}
		})
	}
}
