package trace

import "time"

// seconds makes a table of quantiles.
func seconds(list ...int64) []time.Duration {
	out := make([]time.Duration, len(list))
	for i, s := range list {
		out[i] = time.Duration(s) * time.Second
	}
	return out
}

// PhillyMix is the mix of Microsoft's Philly clusters, 82,247 jobs of September to
// December 2017: mostly single GPUs, durations of a heavy tail.
func PhillyMix() Mix {
	return Mix{
		Name: "philly", Source: "Philly traces (Jeon et al., USENIX ATC 2019; CC BY 4.0), counted: sizes, twentieths of the durations, hours of submission",
		Sizes: []Size{
			{1, 76627}, {2, 1818}, {4, 1870}, {8, 1643}, {12, 7}, {16, 199}, {24, 7}, {32, 67}, {64, 6}, {128, 3},
		},
		Durations: seconds(1, 48, 61, 68, 75, 115, 209, 371, 599, 863, 1144, 1474, 1821, 2140, 2549, 2932, 4244, 5903, 11266, 43648, 400000),
		Hours: [24]int64{
			4367, 3374, 3835, 3780, 2400, 3950, 5732, 7159, 3802, 3447, 3510, 2979,
			2567, 2415, 2185, 2224, 3021, 2289, 2744, 2496, 3483, 3142, 3885, 3461,
		},
	}
}

// ElasticFlowMix is the mix of ElasticFlow's cluster04, 15,802 jobs: gangs in powers
// of two, most of a whole node and lasting hours.
func ElasticFlowMix() Mix {
	return Mix{
		Name: "elasticflow", Source: "ElasticFlow cluster04 (Gu et al., ASPLOS 2023; MIT), counted: sizes, twentieths of the durations",
		Sizes: []Size{{1, 11924}, {2, 125}, {4, 532}, {8, 2779}, {16, 182}, {32, 254}, {64, 6}},
		Durations: seconds(600, 996, 1349, 2489, 4931, 6138, 6622, 7346, 7504, 7615, 7949, 9204, 10605,
			10788, 13822, 14914, 17225, 21710, 29003, 68739, 1237189),
	}
}

// ExponentialMix is single GPUs of exponential durations: the M of M/M/c.
func ExponentialMix(mean time.Duration) Mix {
	return Mix{Name: "exponential", Source: "queueing theory", Sizes: []Size{{1, 1}}, Mean: mean}
}

// GangsMix is one that is made up: 2% of the GPU time is of gangs of 64 GPUs, the others ask 8
// at most, and all take minutes to hours.
func GangsMix() Mix {
	return Mix{
		Name: "gangs", Source: "made up: 2% of the GPU time is of gangs of 64 GPUs",
		Sizes:     []Size{{1, 7000}, {2, 1000}, {4, 800}, {8, 1000}, {64, 7}},
		Durations: seconds(60, 300, 600, 1200, 1800, 2700, 3600, 5400, 7200, 14400, 28800),
	}
}

// Mixes are the mixes by name: the published ones, and one that is made up.
func Mixes() []Mix { return []Mix{PhillyMix(), ElasticFlowMix(), GangsMix()} }
