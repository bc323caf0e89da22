package presets_test

import (
	"slices"
	"strings"
	"sync"
)

// unseen are the knobs that no row can see turned, and why: the presets (all if none
// is named), the knob (all below it if it ends with a point), the value (any if
// empty). An entry that nothing needs is a failure.
var unseen = []struct {
	presets    []string
	knob       string
	value, why string
	used       bool
}{
	{knob: "Name", why: "it is for people"},
	{knob: "Scoring.", why: "only strategies that score nodes read it, and no preset has one"},
	{knob: "GPUStrategy", value: "bin-pack", why: "it is what the zero value means"},
	{knob: "CPUStrategy", value: "bin-pack", why: "it is what the zero value means"},
	{knob: "Durations.", why: "no source tells of durations, and without promises nothing reads them"},
	{knob: "KillGrace", why: "no source tells of limits, and without promises nothing reads it"},
	{knob: "Reserve.", why: "no source promises places (B3)"},
	{knob: "DeadlinesFirst", why: "no source has deadlines"},
	{knob: "UsageStrengthMilli", why: "no row has a history (F6)"},
	{knob: "UsageDecay", why: "no row has a history (F6)"},
	{knob: "UsagePeriod", why: "no row has a history (F6)"},
	{
		knob: "BlockAlikeOnly", value: "yes",
		why: "it says whom a blocked head stops (O4): under best effort it stops nobody",
	},
	{
		knob: "MaxReplacedStarts",
		why:  "it bounds a search of ours (M9): no source says how far to look",
	},
	{
		presets: []string{"determined-fair-share"}, knob: "SearchBudget",
		why: "it bounds a search of ours (M3): no source says how far to look",
	},
	{
		presets: []string{"runai", "runai20"}, knob: "MaxRelocations",
		why: "moves beside victims are ours (M10): no source has a number",
	},
	{
		presets: []string{"osmo", "determined-fair-share", "determined-priority"}, knob: "MaxRelocations",
		why: "nothing moves under NoConsolidation",
	},
	{
		presets: []string{"osmo", "determined-fair-share", "determined-priority"}, knob: "MaxMovedPercent",
		why: "nothing moves under NoConsolidation",
	},
	{
		presets: []string{"osmo", "determined-fair-share", "determined-priority"}, knob: "ConsolidateBeyondShare",
		why: "nothing moves under NoConsolidation",
	},
	{
		presets: []string{"runai", "runai20", "determined-fair-share", "determined-priority"}, knob: "LeastFreeDomainsFirst",
		why: "the source has no topology",
	},
	{
		presets: []string{"osmo", "runai20", "determined-fair-share", "determined-priority"}, knob: "InnerWeightByQuota",
		why: "queues of the source are not nested",
	},
	{
		presets: []string{"determined-fair-share", "determined-priority"}, knob: "ScaleGuarantees",
		why: "the source knows no quota",
	},
	{
		presets: []string{"determined-fair-share"}, knob: "EqualSharesAtZeroWeight",
		why: "shares follow the demand, and weights are positive",
	},
	{presets: []string{"determined-priority"}, knob: "EqualSharesAtZeroWeight", why: "nothing is decided by shares"},
	{presets: []string{"determined-priority"}, knob: "Granules", why: "nothing is decided by shares"},
	{presets: []string{"osmo"}, knob: "ReclaimMarginMilli", why: "nothing is reclaimed by share"},
	{presets: []string{"determined-priority"}, knob: "ReclaimMarginMilli", why: "nothing is reclaimed"},
	{presets: []string{"determined-priority"}, knob: "ReclaimNonPreemptibleOnly", why: "nothing is reclaimed"},
	{presets: []string{"determined-priority"}, knob: "Straddle", why: "nothing is reclaimed"},
	{presets: []string{"determined-priority"}, knob: "MinRuntime.Reclaim", why: "nothing is reclaimed"},
	{presets: []string{"determined-fair-share"}, knob: "MinRuntime.Preempt", why: "nothing is preempted or moved"},
	{presets: []string{"determined-fair-share"}, knob: "LowerFirst", why: "tasks have no priorities there"},
	{presets: []string{"determined-fair-share"}, knob: "ClassBeatsPriority", why: "tasks have no priorities there"},
	{presets: []string{"determined-fair-share"}, knob: "NonPreemptibleFrom", why: "tasks have no priorities there"},
}

var unseenLock sync.Mutex

// excuse is why no row sees the turn; empty if that is nowhere said.
func excuse(preset string, one turn) string {
	unseenLock.Lock()
	defer unseenLock.Unlock()
	for i := range unseen {
		u := &unseen[i]
		knob := u.knob == one.knob || strings.HasSuffix(u.knob, ".") && strings.HasPrefix(one.knob, u.knob)
		if knob && (u.value == "" || u.value == one.value) && (len(u.presets) == 0 || slices.Contains(u.presets, preset)) {
			u.used = true
			return u.why
		}
	}
	return ""
}
