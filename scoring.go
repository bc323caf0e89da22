package allot

import "github.com/allotsched/allot/placement"

// A Scoring holds the parameters of the strategies that score nodes (P4, P5).
// The zero Scoring is the published one: its mix is what the state itself asks.
// Those that a strategy does not know say nothing to it; without such a strategy
// none says anything.
type Scoring struct {
	// MixFrom says of which tasks of the state, per pool, the target mix of
	// [placement.FragmentationGradient] and [placement.ShadowPrice] is made; zero is
	// of all of them.
	MixFrom MixSource `json:"mixFrom,omitzero"`
	// Coverage is how much of those tasks the mix covers at least, in percent, 1
	// to 100: their shapes go into it by how often they come, the most frequent
	// first, until that is reached. 0 is 95, as published.
	Coverage int64 `json:"coverage,omitzero"`
	// Mix is added to it, all of it: what is known of the past, or expected.
	// Shapes that ask the same add up, among themselves and with those of the
	// tasks. At most 1024.
	Mix []MixShape `json:"mix,omitempty"`

	// Scale is how many milli-GPU of expected fragmentation are one unit of the
	// sigmoid of fragmentation gradient, up to 2^20; 0 is 1000, as published.
	Scale int64 `json:"scale,omitzero"`
	// Steps is the quantum: how many steps the sigmoid has from 0 to 1, up to
	// 10,000; 0 is 100, as published.
	Steps int `json:"steps,omitzero"`
	// Exact compares the expected fragmentations themselves, without a sigmoid;
	// Scale and Steps are 0 then.
	Exact bool `json:"exact,omitzero"`
	// Ties say which of several nodes of one score is taken, before their
	// position decides (P6); zero leaves it to the position, as published. Shadow
	// price has an order of its own.
	Ties placement.TieOrder `json:"ties,omitzero"`
	// Seed is that of [placement.Random], 0 to [MaxAmount].
	Seed int64 `json:"seed,omitzero"`
}

// A MixShape is one shape of the work that is expected (P4).
type MixShape struct {
	// Request is what one task asks, as in a [PodSet]. Its selector and
	// tolerations say nothing here: a mix knows no nodes.
	Request Request `json:"request,omitzero"`
	// Weight is how often it comes, in tasks; it must be positive. The weights of
	// a mix are below 2^39 in all.
	Weight int64 `json:"weight"`
}

// MixSource says of which tasks of a pool the target mix of
// [placement.FragmentationGradient] and [placement.ShadowPrice] is made (P4). A workload counts with its own
// form, or the one that it runs in, one that ends for good not at all.
//
// What starts turns from pending into running: only under MixBoth, and where the
// mix is given alone, is it the same before a plan and after it, and only there
// is it sure that a plan once applied leaves nothing to do (M5). Under the other
// two a gang of unlike tasks that found no place may find one then.
type MixSource uint8

const (
	// MixBoth: running and pending ones; those of the workload's own form, in
	// whichever it runs.
	MixBoth MixSource = iota
	// MixPending: those that hold no place.
	MixPending
	// MixRunning: those that run or claim a place.
	MixRunning
	// MixGiven: none; the mix is [Scoring.Mix] alone.
	MixGiven
)
