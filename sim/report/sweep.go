package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/allotsched/allot/sim"
)

// A Run is one of a sweep: what was run, and what came of it.
type Run struct {
	// Trace names the trace, Load is in percent of its own.
	Trace     string `json:"trace"`
	Load      int64  `json:"load"`
	Seed      uint64 `json:"seed"`
	Scheduler string `json:"scheduler"`
	// Summary is what came of it; nil (absent in JSON) is that it failed, and Fault why.
	Summary *Summary `json:"summary,omitempty"`
	Fault   string   `json:"fault,omitzero"`
}

// A Measure is a number of a run, of which means and differences are told.
type Measure struct {
	// Name has its unit at the end.
	Name string
	// Of is the number; false says that the run has none.
	Of func(*Summary) (sim.Decimal, bool)
}

// Measures are those of a sweep, in the order of its tables.
func Measures() []Measure {
	always := func(of func(*Summary) sim.Decimal) func(*Summary) (sim.Decimal, bool) {
		return func(s *Summary) (sim.Decimal, bool) { return of(s), true }
	}
	count := func(of func(*Summary) int) func(*Summary) (sim.Decimal, bool) {
		return func(s *Summary) (sim.Decimal, bool) { return sim.Quotient(int64(of(s)), 1), true }
	}
	held := func(of func(*Usage) sim.Decimal) func(*Summary) (sim.Decimal, bool) {
		return func(s *Summary) (sim.Decimal, bool) {
			if s.Steady == nil {
				return sim.Decimal{}, false
			}
			return of(s.Steady), true
		}
	}
	return []Measure{
		{"completion_mean_s", func(s *Summary) (sim.Decimal, bool) { return s.All.CompletionTime.Mean, s.All.CompletionTime.N > 0 }},
		{"completion_p99_s", func(s *Summary) (sim.Decimal, bool) { return s.All.CompletionTime.P99, s.All.CompletionTime.N > 0 }},
		{"wait_mean_s", func(s *Summary) (sim.Decimal, bool) { return s.All.Pending.Mean, s.All.Pending.N > 0 }},
		{"wait_p99_s", func(s *Summary) (sim.Decimal, bool) { return s.All.Pending.P99, s.All.Pending.N > 0 }},
		{"slowdown_mean", func(s *Summary) (sim.Decimal, bool) { return s.Slowdown.Mean, s.Slowdown.N > 0 }},
		{"unfinished_jobs", count(func(s *Summary) int { return s.All.Unfinished })},
		{"allocated_part", held(func(u *Usage) sim.Decimal { return u.Allocated })},
		{"used_part", held(func(u *Usage) sim.Decimal { return u.Used })},
		{"evictions", count(func(s *Summary) int { return s.Evictions })},
		{"lost_gpu_hours", always(func(s *Summary) sim.Decimal { return s.Waste.Lost })},
		{"longest_quota_wait_s", longestOwed},
		{"jain", func(s *Summary) (sim.Decimal, bool) {
			if s.Jain == nil {
				return sim.Decimal{}, false
			}
			return *s.Jain, true
		}},
		{"makespan_s", func(s *Summary) (sim.Decimal, bool) { return s.Makespan, s.Makespan.Cmp(sim.Decimal{}) > 0 }},
	}
}

// longestOwed is the longest time that a queue waited within its quota; false says that none
// has a quota.
func longestOwed(s *Summary) (most sim.Decimal, some bool) {
	for i := range s.QueueMetrics {
		if owed := s.QueueMetrics[i].QuotaLatency; owed != nil {
			some = true
			if owed.Max.Cmp(most) > 0 {
				most = owed.Max
			}
		}
	}
	return most, some
}

// An Estimate is the mean of a measure over runs that differ in their seeds alone, and
// where its 95% confidence interval lies, by Student's t: as if the runs were drawn from a
// normal distribution. Low and High are absent of a single run, which tells nothing of how
// far another would be.
type Estimate struct {
	Measure string       `json:"measure"`
	Runs    int          `json:"runs"`
	Mean    sim.Decimal  `json:"mean"`
	Low     *sim.Decimal `json:"low,omitempty"`
	High    *sim.Decimal `json:"high,omitempty"`
}

// Means are those of a scheduler over the seeds. Against is empty, or the scheduler whose
// numbers were taken from those of the same trace, load and seed before: paired, what the
// seeds have in common falls out, and what is left is what the schedulers make of it.
type Means struct {
	Trace     string     `json:"trace"`
	Load      int64      `json:"load"`
	Scheduler string     `json:"scheduler"`
	Against   string     `json:"against,omitzero"`
	Estimates []Estimate `json:"estimates"`
}

// A Sweep is what comes of several runs.
type Sweep struct {
	Runs        []Run   `json:"runs"`
	Means       []Means `json:"means"`
	Differences []Means `json:"differences"`
}

// Compare makes means over seeds, and the paired differences of each scheduler to the
// first of the same trace and load. Runs that failed, or were ended early, count in
// neither. All of it is of numbers of six digits after the point, as they are written, so
// that runs that are read again come to the same.
func Compare(runs []Run) *Sweep {
	s := &Sweep{Runs: runs}
	type place struct {
		trace string
		load  int64
	}
	type cell struct {
		place
		scheduler string
	}
	var order []cell
	of, first := make(map[cell][]*Run), make(map[place]string)
	for i := range runs {
		r := &runs[i]
		at := cell{place{r.Trace, r.Load}, r.Scheduler}
		if _, known := first[at.place]; !known {
			first[at.place] = r.Scheduler
		}
		if of[at] == nil {
			order = append(order, at)
		}
		of[at] = append(of[at], r)
	}
	for _, at := range order {
		base := first[at.place]
		s.Means = append(s.Means, Means{at.trace, at.load, at.scheduler, "", estimates(of[at], nil)})
		if at.scheduler != base {
			s.Differences = append(s.Differences, Means{at.trace, at.load, at.scheduler, base, estimates(of[at], of[cell{at.place, base}])})
		}
	}
	return s
}

// estimates are the means of runs, less those of the same seed among others if there are any.
func estimates(runs, others []*Run) (out []Estimate) {
	for _, m := range Measures() {
		var list []*big.Int
		for _, r := range runs {
			x, ok := micros6(m, r)
			if ok && others != nil {
				var y *big.Int
				at := slices.IndexFunc(others, func(o *Run) bool { return o.Seed == r.Seed })
				if ok = at >= 0; ok {
					if y, ok = micros6(m, others[at]); ok {
						x.Sub(x, y)
					}
				}
			}
			if ok {
				list = append(list, x)
			}
		}
		if len(list) > 0 {
			out = append(out, estimate(m.Name, list))
		}
	}
	return out
}

// micros6 is a measure of a run in millionths.
func micros6(m Measure, r *Run) (*big.Int, bool) {
	if r.Summary == nil || r.Summary.Partial {
		return nil, false
	}
	d, ok := m.Of(r.Summary)
	if !ok {
		return nil, false
	}
	whole, ok := new(big.Rat).SetString(d.Text(6))
	if !ok {
		return nil, false
	}
	return new(big.Int).Set(whole.Mul(whole, big.NewRat(million, 1)).Num()), true
}

const million = 1_000_000

// students are, in thousandths, how many standard errors of a mean lie to each side of it
// in 95% of the cases, by degrees of freedom from 1 on; beyond, the last of a table.
var students = []int64{
	12706, 4303, 3182, 2776, 2571, 2447, 2365, 2306, 2262, 2228, 2201, 2179, 2160, 2145, 2131, 2120, 2110, 2101, 2093, 2086,
	2080, 2074, 2069, 2064, 2060, 2056, 2052, 2048, 2045, 2042,
}

// student is that of so many runs. Between the entries of the table it is the larger one.
func student(runs int) int64 {
	switch freedom := runs - 1; {
	case freedom <= len(students):
		return students[freedom-1]
	case freedom < 60:
		return 2042
	case freedom < 120:
		return 2000
	}
	return 1980
}

// estimate is the mean of numbers in millionths. Half the interval is t × √(variance / n),
// rounded down to a millionth.
func estimate(name string, list []*big.Int) Estimate {
	n := int64(len(list))
	sum := new(big.Int)
	for _, x := range list {
		sum.Add(sum, x)
	}
	e := Estimate{Measure: name, Runs: len(list), Mean: millionths(sum, n)}
	if n == 1 {
		return e
	}
	// n × half the interval is t × √(Σ (n·x − sum)² / n / (n − 1)).
	squares := new(big.Int)
	for _, x := range list {
		d := new(big.Int).Mul(x, big.NewInt(n))
		d.Sub(d, sum)
		squares.Add(squares, d.Mul(d, d))
	}
	t := student(int(n))
	squares.Mul(squares, big.NewInt(t*t))
	squares.Quo(squares, new(big.Int).Mul(big.NewInt(n*(n-1)), big.NewInt(million)))
	half := squares.Sqrt(squares)
	low, high := millionths(new(big.Int).Sub(sum, half), n), millionths(new(big.Int).Add(sum, half), n)
	e.Low, e.High = &low, &high
	return e
}

// millionths is a / n, for a in millionths.
func millionths(a *big.Int, n int64) sim.Decimal {
	var d sim.Decimal
	text := new(big.Rat).SetFrac(a, big.NewInt(n*million)).FloatString(6)
	if err := d.UnmarshalJSON([]byte(text)); err != nil {
		return sim.Decimal{} // no measure has so many digits
	}
	return d
}

// WriteSweep writes sweep.json.
func WriteSweep(w io.Writer, s *Sweep) error {
	if s == nil {
		return errNothing
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// WriteSweepRuns writes runs.csv: a line a run, with its measures; empty is that it has none.
func WriteSweepRuns(w io.Writer, runs []Run) error {
	out := csv.NewWriter(w)
	head := []string{"trace", "load", "seed", "scheduler", "partial", "fault", "left_out"}
	for _, m := range Measures() {
		head = append(head, m.Name)
	}
	out.Write(head)
	for i := range runs {
		r := &runs[i]
		line := []string{r.Trace, fmt.Sprint(r.Load), fmt.Sprint(r.Seed), r.Scheduler, fmt.Sprint(r.Summary != nil && r.Summary.Partial), r.Fault, ""}
		if r.Summary != nil {
			line[len(line)-1] = fmt.Sprint(r.Summary.leftOut())
		}
		for _, m := range Measures() {
			cell := ""
			if r.Summary != nil {
				if d, ok := m.Of(r.Summary); ok {
					cell = d.String()
				}
			}
			line = append(line, cell)
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// WriteSweepMeans writes means.csv: a line a mean or a difference.
func WriteSweepMeans(w io.Writer, s *Sweep) error {
	if s == nil {
		return errNothing
	}
	out := csv.NewWriter(w)
	out.Write([]string{"trace", "load", "scheduler", "against", "measure", "runs", "mean", "low", "high"})
	for _, m := range slices.Concat(s.Means, s.Differences) {
		for _, e := range m.Estimates {
			low, high := "", ""
			if e.Low != nil {
				low, high = e.Low.String(), e.High.String()
			}
			out.Write([]string{m.Trace, fmt.Sprint(m.Load), m.Scheduler, m.Against, e.Measure, fmt.Sprint(e.Runs), e.Mean.String(), low, high})
		}
	}
	out.Flush()
	return out.Error()
}
