package scenario

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// equalStates compares states as their reader does: an empty list is no list.
var equalStates = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b quota.Bound) bool { return a == b })}

// TestFormatReadsBack: for any state with names of any kind, Format gives a
// text that State reads back to an equal state, and that Format writes alike.
// Every field of the types must have been drawn with a value, for which the few
// states of a short run are not enough.
func TestFormatReadsBack(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		state := drawState(t)
		noteFields(seen, reflect.ValueOf(state))
		text := Format(&state)
		read, err := State(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if difference := cmp.Diff(&state, read, equalStates); difference != "" {
			t.Fatalf("-state +read\n%s\n%s", difference, text)
		}
		if again := Format(read); again != text {
			t.Fatalf("written\n%s\nthen\n%s", text, again)
		}
	})
	if testing.Short() {
		return
	}
	for _, field := range missingFields(seen, reflect.TypeFor[allot.State](), nil) {
		t.Errorf("no state had a value in %s: draw one, and see that it can be written", field)
	}
}

// noteFields adds the names of the fields that have a value.
func noteFields(seen map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noteFields(seen, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFields(seen, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !v.Field(i).IsZero() {
				seen[v.Type().Name()+"."+field.Name] = true
				noteFields(seen, v.Field(i))
			}
		}
	}
}

// missingFields are the exported fields below t that are not in seen.
func missingFields(seen map[string]bool, t reflect.Type, path []reflect.Type) []string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(path, t) {
		return nil
	}
	var missing []string
	for i := range t.NumField() {
		if field := t.Field(i); field.IsExported() {
			if name := t.Name() + "." + field.Name; !seen[name] {
				missing = append(missing, name)
			}
			missing = append(missing, missingFields(seen, field.Type, append(path, t))...)
		}
	}
	return missing
}

// nastyNames are all that a name could be taken for.
var nastyNames = []string{
	"a", "b", "n0", "n1", "n2", "n3", "n08", "n09", "n10", "on", "or", "none", "unset", "unlimited", "x y", `"`, `\`,
	"a|b", "#", "a..b", "..", "1", "0-3", "n[0]", "a@b", "a:b", "a=b", "a,b", "*", "a/b", "a/b/c", "/", "a/", "größe", "\t",
	"gpu", "cpu", "memory", "res.x", "nvidia.com/gpu",
}

func drawName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(nastyNames), rapid.StringN(1, 4, 8))
}

func drawNames(t *rapid.T, label string, most int) []string {
	return rapid.SliceOfNDistinct(drawName(), 0, most, rapid.ID[string]).Draw(t, label)
}

func drawTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		switch rapid.IntRange(0, 4).Draw(t, "kind of time") {
		case 0:
			return time.Time{}
		case 1:
			return epoch.Add(time.Duration(rapid.Int64Range(-1e6, 1e6).Draw(t, "microseconds")) * time.Microsecond)
		case 2:
			return time.Date(rapid.IntRange(1970, 9999).Draw(t, "year"), 2, 28, 23, 59, 59, 999999000, time.UTC)
		}
		return epoch.Add(time.Duration(rapid.IntRange(0, 1e6).Draw(t, "seconds")) * time.Second)
	})
}

func drawAmount() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 9000), rapid.Int64Range(0, allot.MaxAmount), rapid.Just(int64(80<<30)))
}

func drawBound() *rapid.Generator[quota.Bound] {
	return rapid.OneOf(rapid.Just(quota.Bound{}), rapid.Just(quota.Unlimited()), rapid.Map(drawAmount(), quota.Of))
}

func drawAmounts(t *rapid.T, label string) map[string]int64 {
	return rapid.MapOfN(drawName(), drawAmount(), 0, 3).Draw(t, label)
}

func drawSelector(t *rapid.T) placement.Selector {
	var s placement.Selector
	s.Labels = rapid.MapOfN(drawName(), drawName(), 0, 2).Draw(t, "labels")
	for range rapid.IntRange(0, 2).Draw(t, "expressions") {
		s.Expressions = append(s.Expressions, placement.Expression{
			Key:      drawName().Draw(t, "key"),
			Operator: rapid.SampledFrom([]placement.Operator{placement.In, placement.NotIn, placement.Exists, placement.DoesNotExist, placement.Gt, placement.Lt}).Draw(t, "operator"),
			Values:   rapid.SliceOfN(rapid.OneOf(drawName(), rapid.Just("")), 0, 2).Draw(t, "values"),
		})
		// A list of one empty value cannot be told from no value.
		last := &s.Expressions[len(s.Expressions)-1]
		if slices.Equal(last.Values, []string{""}) {
			last.Values = nil
		}
	}
	return s
}

func drawNodeSet(t *rapid.T) allot.NodeSet {
	set := allot.NodeSet{IDs: drawNames(t, "node set", 4)}
	if rapid.Bool().Draw(t, "selector") {
		s := drawSelector(t)
		set.Selector = &s
	}
	return set
}

var effects = []placement.Effect{placement.DefaultEffect, placement.NoSchedule, placement.PreferNoSchedule, placement.NoExecute}

func drawNode(t *rapid.T) allot.Node {
	n := allot.Node{
		Class:        rapid.SampledFrom([]string{"", "spot", "a b"}).Draw(t, "class"),
		Capacity:     drawAmounts(t, "capacity"),
		Foreign:      drawAmounts(t, "foreign"),
		MaxTasks:     rapid.IntRange(0, 3).Draw(t, "slots"),
		ForeignTasks: rapid.IntRange(0, 3).Draw(t, "foreign slots"),
		Rank:         rapid.Int64Range(-2, 2).Draw(t, "rank"),
		Labels:       rapid.MapOfN(drawName(), drawName(), 0, 2).Draw(t, "labels"),
		Cordoned:     rapid.Bool().Draw(t, "cordoned"),
		Lost:         rapid.Bool().Draw(t, "lost"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "devices") {
		n.Devices = append(n.Devices, allot.Device{
			Model:     rapid.SampledFrom([]string{"", "A100", "H100", "x:y"}).Draw(t, "model"),
			Memory:    rapid.SampledFrom([]int64{0, 80 << 30, 12345}).Draw(t, "memory"),
			Unhealthy: rapid.Bool().Draw(t, "unhealthy"),
			Foreign:   rapid.SampledFrom([]int64{0, 0, 1, 500, 1000}).Draw(t, "foreign"),
		})
	}
	drawInside(t, &n)
	for range rapid.IntRange(0, 2).Draw(t, "taints") {
		n.Taints = append(n.Taints, placement.Taint{
			Key: drawName().Draw(t, "key"), Value: rapid.SampledFrom([]string{"", "v", "a:b"}).Draw(t, "value"),
			Effect: rapid.SampledFrom(effects).Draw(t, "effect"),
		})
	}
	return n
}

// drawInside draws what is where: in the cluster, and inside the node.
func drawInside(t *rapid.T, n *allot.Node) {
	n.Domains = rapid.MapOfN(rapid.OneOf(rapid.SampledFrom(drawnLevels), drawName()), rapid.OneOf(rapid.Just(""), drawName()), 0, 2).Draw(t, "domains")
	n.Hardware = rapid.SampledFrom([]string{"", "nvswitch-8", "none", "a b"}).Draw(t, "hardware")
	for i := range n.Devices {
		n.Devices[i].Socket = rapid.IntRange(0, 2).Draw(t, "socket")
		n.Devices[i].Switch = rapid.IntRange(0, 2).Draw(t, "switch")
	}
	for range rapid.IntRange(0, 2).Draw(t, "links") {
		n.Links = append(n.Links, allot.Link{
			A: rapid.IntRange(0, 7).Draw(t, "a"), B: rapid.IntRange(0, 7).Draw(t, "b"), NVLinks: rapid.IntRange(0, 4).Draw(t, "nvlinks"),
		})
	}
}

// drawnLevels are names of levels, some of which are also something else.
var drawnLevels = []string{"rack", "block", "gpu", "none", "foreign.cpu", "x y", "domain.rack"}

func drawTopology(t *rapid.T, slices bool) allot.Topology {
	level := rapid.SampledFrom(append([]string{"", "", "", allot.NodeLevel}, drawnLevels...))
	k := allot.Topology{
		Required: level.Draw(t, "required"), Preferred: level.Draw(t, "preferred"),
		Mode: rapid.SampledFrom([]gang.Mode{gang.Pack, gang.Balance, gang.Spread}).Draw(t, "mode"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "slices") {
		if slices {
			k.Slices = append(k.Slices, allot.Slice{Size: rapid.IntRange(1, 9).Draw(t, "size"), Level: level.Draw(t, "level")})
		}
	}
	return k
}

func drawPolicy(t *rapid.T) allot.Policy {
	p := allot.Policy{
		Name:                    rapid.SampledFrom([]string{"", "my policy"}).Draw(t, "name"),
		DefaultClass:            rapid.SampledFrom([]string{"", "a", "none"}).Draw(t, "default class"),
		LowerFirst:              rapid.Bool().Draw(t, "lower first"),
		ClassBeatsPriority:      rapid.Bool().Draw(t, "class beats"),
		NonPreemptibleFrom:      rapid.Int32Range(-1, 1).Draw(t, "from"),
		Order:                   rapid.SampledFrom([]queue.Order{queue.FairShare, queue.PriorityFirst, queue.Global, queue.Deprived, queue.ShareThenAge}).Draw(t, "order"),
		Queueing:                rapid.SampledFrom([]queue.Queueing{queue.BestEffort, queue.StrictQueue, queue.StrictPool, queue.BackfillPreemptible}).Draw(t, "queueing"),
		BlockAlikeOnly:          rapid.Bool().Draw(t, "block alike only"),
		CPUOnlyApart:            rapid.Bool().Draw(t, "apart"),
		MaxCPUOnlyTasksPerNode:  rapid.IntRange(0, 2).Draw(t, "cpu-only tasks"),
		NonPreemptibleOverQuota: rapid.Bool().Draw(t, "over quota"),
		Shares:                  rapid.SampledFrom([]fairshare.Method{fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin}).Draw(t, "shares"),
		InnerWeightByQuota:      rapid.Bool().Draw(t, "inner"),
		ClaimLeaving:            rapid.Bool().Draw(t, "claim leaving"),
		EqualSharesAtZeroWeight: rapid.Bool().Draw(t, "equal"),
		ScaleGuarantees:         rapid.Bool().Draw(t, "scale guarantees"),
		Granules:                drawAmounts(t, "granules"),
		GPUStrategy:             rapid.SampledFrom(strategies).Draw(t, "gpu strategy"),
		CPUStrategy:             rapid.SampledFrom(strategies).Draw(t, "cpu strategy"),
		Scoring:                 drawScoring(t),
		Fitting:                 rapid.SampledFrom([]gang.Fitting{gang.AnyNodes, gang.WholeNodes, gang.MixedWholeNodes}).Draw(t, "fitting"),
		LeastFreeDomainsFirst:   rapid.Bool().Draw(t, "least free"),
		UsageStrengthMilli:      rapid.Int64Range(0, 2).Draw(t, "strength"),
		UsageDecay:              rapid.SampledFrom([]fairshare.Decay{fairshare.HalfLife, fairshare.Sliding}).Draw(t, "decay"),
		UsagePeriod:             drawBound().Draw(t, "period"),
		DeadlinesFirst:          rapid.Bool().Draw(t, "deadlines first"),
		Durations:               drawDurations(t),
		KillGrace:               drawBound().Draw(t, "kill grace"),
		Reserve:                 drawReserve(t),
	}
	drawRoom(t, &p)
	for _, name := range drawNames(t, "classes", 2) {
		p.Classes = append(p.Classes, allot.Class{
			Name: name, Priority: rapid.Int32().Draw(t, "priority"), NonPreemptible: rapid.Bool().Draw(t, "non-preemptible"),
		})
	}
	return p
}

func drawDurations(t *rapid.T) allot.Durations {
	return allot.Durations{Default: drawBound().Draw(t, "default"), DefaultLimit: drawBound().Draw(t, "default limit"), Max: drawBound().Draw(t, "max")}
}

// drawReserve draws the knobs of promises.
func drawReserve(t *rapid.T) allot.ReservePolicy {
	return allot.ReservePolicy{
		Backfill: rapid.SampledFrom([]queue.Backfill{queue.NoBackfill, queue.EASY, queue.Conservative}).Draw(t, "backfill"),
		Depth:    rapid.IntRange(0, 2).Draw(t, "depth"), GangsOnly: rapid.Bool().Draw(t, "gangs only"),
		FromPriority: drawBound().Draw(t, "from priority"), After: drawBound().Draw(t, "after"),
		MaxPromises: rapid.IntRange(0, 2).Draw(t, "promises"), MaxHeldPercent: drawBound().Draw(t, "held"), MaxHold: drawBound().Draw(t, "hold"),
		ChargeHeld: rapid.Bool().Draw(t, "charged"), Gather: rapid.Bool().Draw(t, "gather"),
		RatherWait:     drawBound().Draw(t, "rather wait"),
		TrustDurations: rapid.Bool().Draw(t, "trust"), Evictable: rapid.Bool().Draw(t, "evictable"),
		Horizon: drawBound().Draw(t, "horizon"), Resolution: drawBound().Draw(t, "resolution"),
	}
}

// drawRoom draws the knobs of making room.
func drawRoom(t *rapid.T, p *allot.Policy) {
	p.NoConsolidation = rapid.Bool().Draw(t, "no consolidation")
	p.MaxMovedPercent = rapid.Int64Range(0, 2).Draw(t, "moved percent")
	p.ConsolidateBeyondShare = rapid.Bool().Draw(t, "consolidate beyond")
	p.MaxRelocations = drawBound().Draw(t, "relocations")
	p.Reclaim = rapid.SampledFrom([]preempt.Reclaim{preempt.ByQuotaAndShare, preempt.ByQuota, preempt.NoReclaim}).Draw(t, "reclaim")
	p.ReclaimNonPreemptibleOnly = rapid.Bool().Draw(t, "non-preemptible only")
	p.ReclaimMarginMilli = rapid.Int64Range(0, 2000).Draw(t, "margin")
	p.Straddle = rapid.SampledFrom([]preempt.Straddle{preempt.Take, preempt.Spare}).Draw(t, "straddle")
	p.Preempt = rapid.SampledFrom([]preempt.Scope{preempt.WithinQueue, preempt.WithinPool, preempt.NoPreemption}).Draw(t, "preempt")
	if p.Preempt == preempt.WithinPool {
		p.Reclaim = preempt.NoReclaim
	}
	p.MinRuntime = drawMinRuntime(t)
	p.MaxEvictions = rapid.IntRange(0, 2).Draw(t, "evictions")
	p.SearchBudget = rapid.IntRange(0, 2).Draw(t, "budget")
	p.MaxReplacedStarts = drawBound().Draw(t, "replaced starts")
	p.StaleGangGrace = drawBound().Draw(t, "grace")
	p.PreemptedStatus = rapid.SampledFrom([]string{"", "FAILED_PREEMPTED", "a b"}).Draw(t, "status")
	p.PreemptedExitCode = rapid.IntRange(-1, 1).Draw(t, "exit code")
	p.ExitActions = drawExitActions(t)
	p.CheckpointOnEviction = rapid.Bool().Draw(t, "checkpoint")
}

func drawMinRuntime(t *rapid.T) allot.MinRuntime {
	return allot.MinRuntime{Preempt: drawBound().Draw(t, "preempt"), Reclaim: drawBound().Draw(t, "reclaim")}
}

func drawExitActions(t *rapid.T) []allot.ExitAction {
	var exits []allot.ExitAction
	for _, code := range rapid.SliceOfNDistinct(rapid.IntRange(-1, 3006), 0, 2, rapid.ID[int]).Draw(t, "codes") {
		action := rapid.SampledFrom([]allot.Exit{allot.Reschedule, allot.Fail}).Draw(t, "action")
		exits = append(exits, allot.ExitAction{Code: code, Action: action})
	}
	return exits
}

var strategies = []placement.Strategy{
	placement.Default, placement.BinPack, placement.Spread, placement.First, placement.FragmentationGradient,
	placement.DotProduct, placement.GPUPacking, placement.GPUClustering, placement.BestFit, placement.Random,
	placement.ShadowPrice,
}

func drawScoring(t *rapid.T) allot.Scoring {
	s := allot.Scoring{
		MixFrom:  rapid.SampledFrom([]allot.MixSource{allot.MixBoth, allot.MixPending, allot.MixRunning, allot.MixGiven}).Draw(t, "mix from"),
		Coverage: rapid.Int64Range(0, 100).Draw(t, "coverage"),
		Scale:    rapid.Int64Range(0, 2).Draw(t, "scale"),
		Steps:    rapid.IntRange(0, 2).Draw(t, "steps"),
		Exact:    rapid.Bool().Draw(t, "exact"),
		Ties:     rapid.SampledFrom([]placement.TieOrder{placement.ByPosition, placement.LeastGPULeft, placement.LeastCPULeft}).Draw(t, "ties"),
		Seed:     rapid.Int64Range(0, 2).Draw(t, "seed"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "mix") {
		r := allot.Request{GPU: drawGPU(t), Resources: drawAmounts(t, "resources"), Selector: drawSelector(t)}
		s.Mix = append(s.Mix, allot.MixShape{Request: r, Weight: rapid.Int64Range(1, 1<<20).Draw(t, "weight")})
	}
	return s
}

func drawQueue(t *rapid.T, id string, parents []string) allot.Queue {
	q := allot.Queue{
		ID: id, Pool: rapid.SampledFrom([]string{"", "a", "p q"}).Draw(t, "pool"),
		Parent:       rapid.SampledFrom(append([]string{""}, parents...)).Draw(t, "parent"),
		Created:      drawTime().Draw(t, "created"),
		Nodes:        drawNodeSet(t),
		MaxWorkloads: drawBound().Draw(t, "max workloads"),
		MinRuntime:   drawMinRuntime(t),
		Durations:    drawDurations(t),
		Queueing:     rapid.SampledFrom([]queue.OwnQueueing{queue.AsPool, queue.OwnBestEffort, queue.OwnStrict, queue.OwnBackfillPreemptible, queue.OwnBackfillSingles}).Draw(t, "own queueing"),
	}
	type key struct{ resource, class string }
	keys := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) key {
		return key{rapid.SampledFrom([]string{"gpu", "cpu", "memory", "a.b", "a@b/c"}).Draw(t, "resource"), rapid.SampledFrom([]string{"", "H100", "x.y"}).Draw(t, "class")}
	}), 0, 3, rapid.ID[key]).Draw(t, "resources")
	for _, k := range keys {
		q.Resources = append(q.Resources, allot.QueueResource{
			Resource: k.resource, Class: k.class,
			Quota: drawBound().Draw(t, "quota"), Limit: drawBound().Draw(t, "limit"), BorrowingLimit: drawBound().Draw(t, "borrow"),
			Usage:        fairshare.Usage{Used: rapid.Int64Range(0, 2).Draw(t, "used"), Capacity: rapid.Int64Range(0, 2).Draw(t, "capacity")},
			LendingLimit: drawBound().Draw(t, "lend"), Weight: drawBound().Draw(t, "weight"),
			OverQuotaPriority: rapid.Int32Range(-1, 1).Draw(t, "tier"),
		})
	}
	return q
}

func drawGPU(t *rapid.T) allot.GPURequest {
	g := allot.GPURequest{
		Count: rapid.IntRange(0, 3).Draw(t, "count"), Models: drawNames(t, "models", 2),
		MinMemory: rapid.SampledFrom([]int64{0, 40 << 30, 7}).Draw(t, "min memory"),
		Island:    rapid.SampledFrom(drawnIslands).Draw(t, "island"), PreferIsland: rapid.SampledFrom(drawnIslands).Draw(t, "prefer"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		g.Milli = rapid.Int64Range(1, 1000).Draw(t, "milli")
	case 2:
		g.Memory = rapid.Int64Range(1, 1<<40).Draw(t, "memory")
	}
	return g
}

var drawnIslands = []placement.Island{placement.AnyIsland, placement.SocketIsland, placement.SwitchIsland, placement.NVLinkIsland}

// drawForm draws pod sets and groups; a form of several sets names them.
func drawForm(t *rapid.T) ([]allot.PodSet, []allot.Group) {
	names := rapid.SliceOfNDistinct(drawName(), 1, 3, rapid.ID[string]).Draw(t, "pod sets")
	if len(names) == 1 && rapid.Bool().Draw(t, "unnamed") {
		names[0] = ""
	}
	var sets []allot.PodSet
	for _, name := range names {
		s := allot.PodSet{
			Name: name, Count: rapid.IntRange(1, 4).Draw(t, "tasks"), Min: rapid.IntRange(0, 2).Draw(t, "min"),
			Missing: rapid.IntRange(0, 1).Draw(t, "missing"), Step: rapid.SampledFrom([]gang.Step{gang.ByOne, gang.Halving}).Draw(t, "step"), Group: rapid.SampledFrom([]string{"", "g", "a:b"}).Draw(t, "group"),
			Topology: drawTopology(t, true),
			Request:  allot.Request{GPU: drawGPU(t), Resources: drawAmounts(t, "resources"), Selector: drawSelector(t)},
		}
		for range rapid.IntRange(0, 2).Draw(t, "tolerations") {
			tolerated := placement.Toleration{
				Key:    rapid.OneOf(rapid.Just(""), drawName()).Draw(t, "key"),
				Effect: rapid.SampledFrom(effects).Draw(t, "effect"), Operator: placement.TolerationExists,
			}
			if tolerated.Key != "" && rapid.Bool().Draw(t, "equal") {
				tolerated.Operator = placement.TolerationEqual
				tolerated.Value = rapid.SampledFrom([]string{"", "v", "a=b"}).Draw(t, "value")
			}
			s.Request.Tolerations = append(s.Request.Tolerations, tolerated)
		}
		sets = append(sets, s)
	}
	var groups []allot.Group
	for _, name := range drawNames(t, "groups", 2) {
		groups = append(groups, allot.Group{
			Name: name, Min: rapid.IntRange(0, 2).Draw(t, "min"), Parent: rapid.SampledFrom([]string{"", "g", "a:b"}).Draw(t, "parent"),
			Topology: drawTopology(t, false),
		})
	}
	return sets, groups
}

func drawWorkload(t *rapid.T, id string, queues, nodes []string) allot.Workload {
	w := allot.Workload{
		ID: id, Pool: rapid.SampledFrom([]string{"", "a", "p q"}).Draw(t, "pool"),
		Queue:      rapid.SampledFrom(append([]string{""}, queues...)).Draw(t, "queue"),
		Class:      rapid.SampledFrom([]string{"", "LOW", "on"}).Draw(t, "class"),
		Priority:   rapid.Int32Range(-1, 1).Draw(t, "priority"),
		Preemption: rapid.SampledFrom([]allot.Preemption{allot.PreemptionByClass, allot.Preemptible, allot.NonPreemptible}).Draw(t, "preemption"),
		Submitted:  drawTime().Draw(t, "submitted"),
		Strategy:   rapid.SampledFrom(strategies).Draw(t, "strategy"),
		Ending:     rapid.Bool().Draw(t, "ending"),

		Owner:        rapid.SampledFrom([]string{"", "us", "x y"}).Draw(t, "owner"),
		Checkpoint:   drawTime().Draw(t, "checkpoint"),
		ExitActions:  drawExitActions(t),
		Retries:      drawBound().Draw(t, "retries"),
		LeavingForm:  rapid.SampledFrom([]quota.Bound{{}, quota.Of(0), quota.Of(1)}).Draw(t, "leaving form"),
		PartialSince: drawTime().Draw(t, "partial since"),
		Topology:     drawTopology(t, false),

		Duration: drawBound().Draw(t, "duration"), TimeLimit: drawBound().Draw(t, "limit"),
		MinDuration: rapid.Int64Range(0, 7200).Draw(t, "least"),
		FixedWork:   rapid.Int64Range(0, 7200).Draw(t, "work"), WorkDone: rapid.Int64Range(0, 100).Draw(t, "done"),
		NotBefore: drawTime().Draw(t, "not before"), WaitingSince: drawTime().Draw(t, "waiting since"), HeldSince: drawTime().Draw(t, "held since"),
		Deadline: allot.Deadline{Start: drawTime().Draw(t, "start by"), End: drawTime().Draw(t, "end by")},
		Reserved: drawPromise(t, nodes),
	}
	w.PodSets, w.Groups = drawForm(t)
	for range rapid.IntRange(0, 2).Draw(t, "alternatives") {
		f := allot.Form{Queue: rapid.SampledFrom(append([]string{""}, queues...)).Draw(t, "queue"), Topology: drawTopology(t, false)}
		f.PodSets, f.Groups = drawForm(t)
		w.Alternatives = append(w.Alternatives, f)
	}
	count := 0
	if len(nodes) > 0 {
		count = rapid.IntRange(0, 4).Draw(t, "places")
	}
	if count > 0 {
		w.Form = rapid.IntRange(0, len(w.Alternatives)).Draw(t, "form")
	}
	for range count {
		phase := rapid.SampledFrom([]allot.Phase{allot.Running, allot.Claimed, allot.Terminating}).Draw(t, "phase")
		set := rapid.SampledFrom(form(&w, phase)).Draw(t, "set")
		w.Tasks = append(w.Tasks, allot.Task{
			PodSet: set.Name, Index: rapid.IntRange(0, 3).Draw(t, "index"), Node: rapid.SampledFrom(nodes).Draw(t, "node"),
			Phase: phase, Started: drawTime().Draw(t, "started"), Until: drawTime().Draw(t, "until"), Behind: rapid.SampledFrom([]string{"", "a b"}).Draw(t, "behind"),
			Since: drawTime().Draw(t, "since"), Devices: drawDevices(t, set.Request.GPU),
		})
	}
	return w
}

// drawDevices draws as many as the request asks.
func drawDevices(t *rapid.T, g allot.GPURequest) []int {
	count := g.Count
	if count == 0 && (g.Milli != 0 || g.Memory != 0) {
		count = 1
	}
	devices := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), count, count, rapid.ID[int]).Draw(t, "devices")
	return devices
}

func drawState(t *rapid.T) allot.State {
	s := allot.State{
		Now:      drawTime().Draw(t, "now"),
		Revision: rapid.SampledFrom([]string{"", "7", "a b"}).Draw(t, "revision"),
	}
	for _, level := range rapid.SliceOfNDistinct(rapid.SampledFrom(drawnLevels), 0, 3, rapid.ID[string]).Draw(t, "levels") {
		s.Levels = append(s.Levels, allot.Level{Name: level})
	}
	alike := drawNode(t)
	nodes := drawNames(t, "nodes", 5)
	for _, id := range nodes {
		n := deepCopy(alike)
		if rapid.IntRange(0, 2).Draw(t, "alike") == 0 {
			n = drawNode(t)
		}
		n.ID = id
		s.Nodes = append(s.Nodes, n)
	}
	for _, id := range drawNames(t, "pools", 2) {
		s.Pools = append(s.Pools, allot.Pool{ID: id, Nodes: drawNodeSet(t), Policy: drawPolicy(t),
			MaxTasks: rapid.IntRange(0, 2).Draw(t, "tasks"), MaxTasksPerWorkload: rapid.IntRange(0, 2).Draw(t, "tasks of a workload")})
	}
	queues := drawNames(t, "queues", 3)
	for _, id := range queues {
		s.Queues = append(s.Queues, drawQueue(t, id, queues))
	}
	for _, id := range drawNames(t, "workloads", 3) {
		s.Workloads = append(s.Workloads, drawWorkload(t, id, queues, nodes))
	}
	for _, owner := range drawNames(t, "budgets", 2) {
		s.Budgets = append(s.Budgets, allot.DisruptionBudget{Owner: owner, MinRunning: rapid.IntRange(0, 3).Draw(t, "min running")})
	}
	for _, id := range drawNames(t, "reservations", 2) {
		s.Reservations = append(s.Reservations, drawReservation(t, id, nodes))
	}
	return s
}

// drawReservation draws what people have reserved; without a node there is nothing to read.
func drawReservation(t *rapid.T, id string, nodes []string) allot.Reservation {
	r := allot.Reservation{
		ID: id, From: drawTime().Draw(t, "from"), Until: drawTime().Draw(t, "until"),
		Queue:     rapid.SampledFrom([]string{"", "q", "d/p"}).Draw(t, "queue"),
		Workloads: rapid.SampledFrom([][]string{nil, {"none"}, {"a", "b c"}}).Draw(t, "workloads"),
		Evict:     rapid.Bool().Draw(t, "evict"), Drain: rapid.Bool().Draw(t, "drain"),
		Lend: rapid.Bool().Draw(t, "lend"),
	}
	for _, level := range drawNames(t, "levels of amounts", 2) {
		r.Domains = append(r.Domains, allot.ReservedDomain{
			Level: level, Domain: rapid.SampledFrom([]string{"", "r1", "none", "a:b"}).Draw(t, "domain"), Devices: rapid.IntRange(0, 9).Draw(t, "devices"),
		})
	}
	for _, n := range nodes {
		r.Nodes = append(r.Nodes, allot.ReservedNode{Node: n, Devices: rapid.SampledFrom([][]int{nil, {0}, {1, 3}}).Draw(t, "devices")})
	}
	return r
}

// drawPromise draws what a workload was promised.
func drawPromise(t *rapid.T, nodes []string) *allot.Promise {
	if rapid.Bool().Draw(t, "nothing promised") {
		return nil
	}
	p := &allot.Promise{
		At: drawTime().Draw(t, "promised"), Made: drawTime().Draw(t, "made"), First: drawTime().Draw(t, "first"),
		Rule:     rapid.SampledFrom([]allot.PromiseRule{allot.ByBackfill, allot.ByGathering}).Draw(t, "rule"),
		Entitled: rapid.Bool().Draw(t, "entitled"), Form: rapid.IntRange(0, 2).Draw(t, "form"),
		WaitsFor: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b c"}}).Draw(t, "waits for"),
	}
	for i, n := range nodes {
		p.Tasks = append(p.Tasks, allot.Placement{
			PodSet: rapid.SampledFrom([]string{"", "s", "7"}).Draw(t, "set"), Index: rapid.IntRange(0, i+1).Draw(t, "index"),
			Node: n, Devices: rapid.SampledFrom([][]int{nil, {0}, {1, 3}}).Draw(t, "devices"),
		})
	}
	return p
}

// TestFormatReadable: what people write comes out as they write it.
func TestFormatReadable(t *testing.T) {
	const text = `revision 7
levels zone,block,rack
nodes b0 gpu=8 hardware=nvswitch-8 links=0-1:0,4-5:17 block=b1 rack=r1 zone=east
nodes b1 gpu=4 sockets=0-1:1,2-3:2 switches=0:1,3:2 domain."ra ck"=r1
nodes n8..n11 gpu=8 model=H100 gpumem=80Gi cpu=64 memory=512Gi label=zone:a taint=team=vision:NoSchedule
nodes m0 devices=4xH100:80Gi,4xA100:40Gi unhealthy=0,3 foreign.gpu=1:0.5 cpu=0.5 foreign.cpu=0.25 cordoned
pool default
policy pool=default default-class=LOW queueing=strict-queue reclaim=quota preempt=pool stale-gang-grace=60 preempted-status=FAILED_PREEMPTED preempted-exit-code=3006 min-runtime.preempt=600 min-runtime.reclaim=unlimited exit=3006:reschedule exit=1:fail class=HIGH:125:non-preemptible class=LOW:50 granule.gpu=0.5
queue d min-runtime.reclaim=0 limit=unlimited
queue d/p max-workloads=4 quota=2 borrow=1.5 cpu.quota=64 gpu@H100.limit=1
submit d/p/w class=HIGH at=12s set=leader gpu=0.5 set=workers tasks=4 min=2 gpu=8 model=A100,H100
run d/p/w since=13s on leader@m0[2] workers@n8[0-7] workers:3@n9[0-7]
submit d/p/owned at=14s owner=us checkpoint=20s exit=3006:fail retries=2 partial-since=16s tasks=8 min=2 step=halving gpu=1
submit d/p/either at=1500ms gpumem=10Gi or gpu=2x0.5 toleration=team=vision
terminate d/p/either since=15s on m0[4]
claim d/p/either since=15s on 0@m0[5]
submit d/p/near at=17s require=block prefer=rack mode=balance group=g require=rack set=leader mode=spread in=g gpu=1 set=workers slices=16@rack,4@node tasks=32 in=g gpu=8 island=nvlink or require=rack slices=2@node tasks=2 gpu=8 prefer-island=socket
submit d/p/alone at=18s set="" require=node tasks=2 gpu=1
budget us min-running=4
now 14s
`
	state, err := State(text)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(text, Format(state)); difference != "" {
		t.Error(difference)
	}
}

// TestDeepCopy: a copy shares nothing that can be written to.
func TestDeepCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := drawState(t)
		fresh := deepCopy(state)
		if !reflect.DeepEqual(state, fresh) {
			t.Fatal("the copy differs")
		}
		scramble(reflect.ValueOf(&fresh).Elem())
		again := deepCopy(state)
		if !reflect.DeepEqual(state, again) {
			t.Fatal("the copy shares memory")
		}
	})
}

// scramble clears every element of every slice and map below v.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
			v.Elem().SetZero()
		}
	}
}

// TestKnobNames: knobs have the names that people know from JSON, in kebab.
func TestKnobNames(t *testing.T) {
	names := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[allot.Policy]()) {
		names[knobName(field)] = true
	}
	for _, name := range []string{"max-cpu-only-tasks-per-node", "cpu-only-apart", "gpu-strategy", "lower-first", "order"} {
		if !names[name] {
			t.Errorf("no knob %s among %s", name, strings.Join(slices.Sorted(maps.Keys(names)), " "))
		}
	}
}
