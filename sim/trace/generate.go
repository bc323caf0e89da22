package trace

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
)

// A Mix says what kind of jobs come.
type Mix struct {
	// Name is for people, Source is where the figures are from.
	Name, Source string
	// Sizes are the GPUs of a job, each as often as its weight says.
	Sizes []Size
	// Durations are quantiles at even distances from the shortest to the longest, at
	// least two; between two of them all durations are equally likely. Mean, if it is
	// not 0, says instead that they are exponential.
	Durations []time.Duration
	Mean      time.Duration
	// Hours are the arrivals by hour of the day in proportion; all 0 is Poisson at one
	// rate.
	Hours [24]int64
}

// A Size is a number of GPUs and how often it comes.
type Size struct {
	GPUs   int
	Weight int64
}

// Load says what is made of a Mix.
type Load struct {
	// Seed decides everything that is drawn.
	Seed uint64
	// Nodes are the cluster's, of 8 GPUs each.
	Nodes int
	// Jobs are how many are made; of jobs larger than the cluster others are drawn.
	Jobs int
	// Percent is the mean load that is offered, of all GPUs.
	Percent int64
	// Tenants are queues among which the GPUs are divided as quotas, evenly; each
	// submits as much as any other. 0 is none. Burst is how many jobs of one of them
	// come in a row in the mean; 0 and 1 draw anew for each.
	Tenants int
	Burst   int64
	// Noise: estimates are off by up to a factor of 1 + Noise/100 either way, drawn
	// evenly; 0 is the truth.
	Noise int64
}

// The generators' streams: each draws apart from the others.
const (
	arrivalStream = iota + 1
	sizeStream
	durationStream
	tenantStream
	noiseStream
	faultStream
	estimateStream
)

// Bounds: of the load that is offered, of what is made, and of how far estimates are off.
const (
	maxPercent = 1_000_000
	maxJobs    = 1 << 24
	maxTenants = 1 << 16
	maxNoise   = 10000
)

// Generate makes a trace.
func Generate(m Mix, l Load) (*sim.Input, error) {
	if l.Nodes <= 0 || l.Nodes > maxGPUs || l.Jobs < 0 || l.Jobs > maxJobs || l.Percent <= 0 || l.Percent > maxPercent || l.Tenants < 0 || l.Tenants > maxTenants || l.Burst < 0 || l.Noise < 0 || l.Noise > maxNoise {
		return nil, errors.New("trace: a load is out of range")
	}
	sizes, err := m.fitting(l.Nodes * nodeGPUs)
	if err != nil {
		return nil, err
	}
	in := &sim.Input{Cluster: allot.State{Nodes: Nodes(l.Nodes, nodeGPUs)}}
	tenants := make([]string, l.Tenants)
	for i := range tenants {
		tenants[i] = fmt.Sprintf("tenant-%02d", i)
		in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: tenants[i], Resources: []allot.QueueResource{
			{Resource: allot.GPU, Quota: quota.Of(int64(l.Nodes*nodeGPUs/l.Tenants) * 1000)},
		}})
	}
	gap := m.gap(sizes, l)
	if gap < m.leastGap() {
		return nil, fmt.Errorf("trace: %d%% of %d nodes is more load than a clock can count", l.Percent, l.Nodes)
	}
	arrivals, size := newDraw(l.Seed, arrivalStream), newDraw(l.Seed, sizeStream)
	duration, whose, noise := newDraw(l.Seed, durationStream), newDraw(l.Seed, tenantStream), newDraw(l.Seed, noiseStream)
	shapes := make(gangs)
	in.Jobs = make([]sim.Job, 0, l.Jobs)
	at, who := time.Duration(0), int64(0)
	for i := range l.Jobs {
		at = m.next(arrivals, at, gap)
		if at > maxTime {
			return nil, errors.New("trace: it would take more than a hundred years")
		}
		j := sim.Job{
			Submit: at, Duration: m.duration(duration),
			Workload: allot.Workload{Preemption: allot.Preemptible, PodSets: shapes.of(pick(size, sizes))},
		}
		if l.Tenants > 0 {
			if i == 0 || whose.below(max(l.Burst, 1)) == 0 {
				who = whose.below(int64(l.Tenants))
			}
			j.Workload.Queue = tenants[who]
		}
		if l.Noise > 0 {
			j.Estimate = misjudge(noise, j.Duration, l.Noise)
		}
		in.Jobs = append(in.Jobs, j)
	}
	lineUp(in, false)
	return in, nil
}

// fitting are the sizes that fit the cluster.
func (m *Mix) fitting(gpus int) (fit []Size, err error) {
	for _, s := range m.Sizes {
		if s.GPUs <= 0 || s.Weight < 0 || s.Weight > 1<<32 {
			return nil, fmt.Errorf("trace: mix %s: size %d of weight %d", m.Name, s.GPUs, s.Weight)
		}
		if s.GPUs <= gpus && s.Weight > 0 {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return nil, fmt.Errorf("trace: mix %s: no size fits %d GPUs", m.Name, gpus)
	}
	if slices.ContainsFunc(m.Hours[:], func(n int64) bool { return n < 0 || n > 1<<32 }) {
		return nil, fmt.Errorf("trace: mix %s: an hour has a number that is out of range", m.Name)
	}
	for i, d := range m.Durations {
		if d <= 0 || i > 0 && d < m.Durations[i-1] || d > maxTime {
			return nil, fmt.Errorf("trace: mix %s: its durations do not rise", m.Name)
		}
	}
	if len(m.Durations) < 2 && m.Mean <= 0 || m.Mean > maxTime {
		return nil, fmt.Errorf("trace: mix %s: fewer than two durations", m.Name)
	}
	return fit, nil
}

// gap is the mean time between two arrivals.
func (m *Mix) gap(sizes []Size, l Load) time.Duration {
	var doubled, gpus, weights int64 // of the mean duration; of the mean size
	for i := 1; i < len(m.Durations); i++ {
		doubled += int64(m.Durations[i-1]+m.Durations[i]) / int64(len(m.Durations)-1)
	}
	if m.Mean > 0 {
		doubled = 2 * int64(m.Mean)
	}
	for _, s := range sizes {
		gpus, weights = gpus+int64(s.GPUs)*s.Weight, weights+s.Weight
	}
	// duration × size × 100 / (percent × GPUs), in 128 bits
	high, low := bits.Mul64(uint64(doubled/2), uint64(100*gpus))
	below := uint64(weights * l.Percent * int64(l.Nodes*nodeGPUs))
	if high >= below {
		return 0
	}
	quotient, _ := bits.Div64(high, low, below)
	return time.Duration(quotient)
}

// leastGap is the least mean time between two arrivals of which the hours take parts
// that are exact to a percent.
func (m *Mix) leastGap() time.Duration {
	const exact = 100
	return max(1, time.Duration(exact*slices.Max(m.Hours[:])*int64(len(m.Hours))))
}

// next is when the next job arrives. Where the rate is another one each hour,
// arrivals at the highest rate are thinned.
func (m *Mix) next(d draw, at, gap time.Duration) time.Duration {
	var most, all int64
	for _, n := range m.Hours {
		most, all = max(most, n), all+n
	}
	if most == 0 {
		return at + d.exponential(gap)
	}
	for {
		at += d.exponential(gap / time.Duration(most*int64(len(m.Hours))) * time.Duration(all))
		if d.below(most) < m.Hours[at/time.Hour%24] {
			return at
		}
	}
}

// pick draws a size.
func pick(d draw, sizes []Size) int {
	var all int64
	for _, s := range sizes {
		all += s.Weight
	}
	n := d.below(all)
	for _, s := range sizes {
		if n -= s.Weight; n < 0 {
			return s.GPUs
		}
	}
	return sizes[0].GPUs
}

// duration draws a duration.
func (m *Mix) duration(d draw) time.Duration {
	if m.Mean > 0 {
		return max(d.exponential(m.Mean), 1)
	}
	i := d.below(int64(len(m.Durations) - 1))
	from, to := m.Durations[i], m.Durations[i+1]
	return from + time.Duration(d.below(int64(to-from)+1))
}

// misjudge is a duration as a user estimates it.
func misjudge(d draw, t time.Duration, noise int64) time.Duration {
	off := 100 + d.below(noise+1)
	if d.below(2) == 0 {
		return max(t/time.Duration(off)*100, 1)
	}
	return t / 100 * time.Duration(off)
}

// Noisy is the input with estimates that are off by up to a factor of 1 + noise/100
// either way; noise counts as 0 to 10000.
func Noisy(in *sim.Input, seed uint64, noise int64) *sim.Input {
	if in == nil {
		return nil
	}
	noise = min(max(noise, 0), maxNoise)
	out := *in
	out.Jobs = make([]sim.Job, len(in.Jobs))
	d := newDraw(seed, noiseStream)
	for i := range in.Jobs {
		out.Jobs[i] = in.Jobs[i]
		out.Jobs[i].Estimate = misjudge(d, in.Jobs[i].Duration, noise)
	}
	return &out
}
