package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/internal/view"
	"github.com/allotsched/allot/quota"
)

// An Explanation says how one workload fares in the world after the plan, why,
// and against which others: all as data. Text is [Explanation.String].
type Explanation struct {
	// Workload, Pool and Queue are where it stands; the queue and what follows
	// are those of Form, as in [allot.Pending].
	Workload string `json:"workload"`
	Pool     string `json:"pool,omitzero"`
	Queue    string `json:"queue,omitzero"`
	Form     int    `json:"form,omitzero"`
	// Priority is what its class and its own words come to, NonPreemptible too;
	// Submitted is the State's.
	Priority       int32     `json:"priority,omitzero"`
	NonPreemptible bool      `json:"nonPreemptible,omitzero"`
	Submitted      time.Time `json:"submitted,omitzero"`
	// Status is what the plan does with it, Actions are how, in the plan's order.
	Status  Status         `json:"status"`
	Actions []allot.Action `json:"actions,omitempty"`
	// Holds counts the tasks that run or are claimed after the plan, Tasks all
	// that were submitted. Starts counts those that it would start next, all
	// together (G1); 0 if it wants no more. Asks is what these are charged (F1), GPU
	// first, then by name; of a workload that wants no more, what it holds.
	Holds  int           `json:"holds,omitzero"`
	Tasks  int           `json:"tasks,omitzero"`
	Starts int           `json:"starts,omitzero"`
	Asks   []AskedAmount `json:"asks,omitempty"`
	// Reasons are why it waits after the plan, as in [allot.Pending]; none if it does
	// not.
	Reasons []allot.Reason `json:"reasons,omitempty"`
	// Levels are the queues from its own up to the uppermost, each with the
	// resources that it asks.
	Levels []QueueLevel `json:"levels,omitempty"`
	// Ahead is what waits before it; nil if it has no turn: it does not wait, or only for
	// its own tasks, or too few of them were submitted.
	Ahead *Ahead `json:"ahead,omitempty"`
	// Holders are the queues that hold what it asks and the nodes do not have free, where it
	// could use it (see [Holder]), by resource, the most first; none if it does not wait.
	Holders []Holder `json:"holders,omitempty"`
	// For are the workloads that the plan takes something from, or moves, for
	// this one, by ID. Takings are what the plan takes from this one.
	For     []string `json:"for,omitempty"`
	Takings []Taking `json:"takings,omitempty"`
}

// Status is what a plan does with a workload.
type Status uint8

const (
	// StatusWaits: nothing of it starts; Reasons say why.
	StatusWaits Status = iota + 1
	// StatusLeaves: it waits until its own Terminating tasks are gone (S5).
	StatusLeaves
	// StatusClaims: it has places where others are still leaving, be they new
	// or of an earlier plan, and starts when they are gone (S4).
	StatusClaims
	// StatusStarts: it starts now.
	StatusStarts
	// StatusRuns: it runs, and nothing is changed about it.
	StatusRuns
	// StatusGrows, StatusShrinks and StatusMoves: it runs, and gets tasks above
	// its minimum, loses some, or other places.
	StatusGrows
	StatusShrinks
	StatusMoves
	// StatusEvicted: it loses all its places, and waits again.
	StatusEvicted
	// StatusFails: it loses all its places, and ends for good (S6).
	StatusFails
	// StatusEnds: the State says that it ends for good (S5).
	StatusEnds
)

// An AskedAmount is an amount of a resource, in the resource's unit.
type AskedAmount struct {
	Resource string `json:"resource"`
	Amount   int64  `json:"amount"`
}

// A QueueLevel is one queue above a workload, in one resource that the workload asks.
type QueueLevel struct {
	// Share has the queue's figures after the plan (Q6).
	allot.Share
	// Entitlement is up to where the queue may use with a right (R8): a leaf the larger
	// of min(quota, requestable) and fair share, another the larger of quota and
	// fair share; absent where the resource is not divided.
	Entitlement quota.Bound `json:"entitlement,omitzero"`
	// QuotaLeft, EntitlementLeft and LimitLeft are what quota (of a non-preemptible
	// workload: beyond non-preemptible use, Q2), entitlement and limit leave; 0 where
	// use is beyond. EntitlementLeft is absent where there is no entitlement.
	QuotaLeft       quota.Bound `json:"quotaLeft"`
	EntitlementLeft quota.Bound `json:"entitlementLeft,omitzero"`
	LimitLeft       quota.Bound `json:"limitLeft"`
}

// Ahead is what waits before a workload.
type Ahead struct {
	// InQueue counts the workloads of its queue that wait before it (O1), InPool
	// those of the pool whose turn would come first, were the order gone through
	// once without a start (O2).
	InQueue int `json:"inQueue,omitzero"`
	InPool  int `json:"inPool,omitzero"`
	// Next are the last of InPool, nearest first, at most [MostTold].
	Next []string `json:"next,omitempty"`
}

// A Holder is a queue whose workloads hold what another would need.
type Holder struct {
	Queue    string `json:"queue"`
	Resource string `json:"resource"`
	// Held is what its workloads hold or claim, after the plan, of what the waiting
	// workload could use were it free: on nodes that would take a task of it, of devices
	// those that it accepts, in domains that could hold it. OfNonPreemptible is the part
	// that is never evicted.
	Held             int64 `json:"held"`
	OfNonPreemptible int64 `json:"ofNonPreemptible,omitzero"`
	// Quota and FairShare are the queue's, Used all its use.
	Quota     quota.Bound `json:"quota"`
	FairShare int64       `json:"fairShare,omitzero"`
	Used      int64       `json:"used,omitzero"`
	// Workloads counts those that hold it; Last are the worst standing of them
	// (R8), which would go first, at most [MostTold].
	Workloads int      `json:"workloads"`
	Last      []string `json:"last,omitempty"`
}

// MostTold is how many names an explanation lists where it says so; the counts
// beside them are of all.
const MostTold = 5

var statusNames = [...]string{
	StatusWaits:   "waits",
	StatusLeaves:  "leaves",
	StatusClaims:  "claims",
	StatusStarts:  "starts",
	StatusRuns:    "runs",
	StatusGrows:   "grows",
	StatusShrinks: "shrinks",
	StatusMoves:   "moves",
	StatusEvicted: "evicted",
	StatusFails:   "fails",
	StatusEnds:    "ends",
}

// String is the status's text: "waits", "leaves", "claims", "starts", "runs",
// "grows", "shrinks", "moves", "evicted", "fails" or "ends".
func (s Status) String() string { return prose.Name("Status", statusNames[:], s) }

// MarshalText is the text of String; an unknown value is an error.
func (s Status) MarshalText() ([]byte, error) { return prose.MarshalName("status", statusNames[:], s) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (s *Status) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("status", statusNames[:], s, text)
}

// unknown is the error of a question about what the state does not have.
func unknown(kind, id string) error { return fmt.Errorf("%w: %s %q", allot.ErrUnknown, kind, id) }

// Workload explains one workload: what becomes of it, every reason for which it
// waits, how its queues stand, what is before it, which queues hold what it would need,
// and, if the plan takes something from it, why it was chosen.
//
// The error is the context's, or wraps [allot.ErrUnknown]. The first question that a
// decision is asked beyond its actions has it made once more, see [allot.Decision]; every
// other one takes time in what runs and waits in the pool. Explaining what is taken from
// a workload has it made another time, where that was not asked before.
func Workload(ctx context.Context, d *allot.Decision, workload string) (out *Explanation, err error) {
	takings := takingsFrom(d.Actions(), workload)
	err = d.View(ctx, victims(d.Actions(), takings), func(v decision) error {
		source, known := d.Snapshot().Workload(workload)
		if !known {
			return unknown("workload", workload)
		}
		out, err = (&viewed{v.World(), v}).workload(&source, d.Actions(), takings)
		return err
	})
	return out, err
}

// WorkloadIn is [Workload] of what is decided in a state, from scratch: the same answer for the cost of little more than
// [allot.Solve], where there is one question. For a second one [allot.NewSnapshot] is quicker, and so it is for a host that
// decides anyway. The state is not modified, and nothing of it is kept.
//
// The error is that of [allot.Check], the context's, or wraps [allot.ErrUnknown].
func WorkloadIn(ctx context.Context, s *allot.State, workload string) (out *Explanation, err error) {
	asked := view.Victims{IDs: []string{workload}, Near: MostTold}
	err = s.View(ctx, asked, func(v decision, actions []allot.Action) error {
		if _, known := v.Workload(workload); !known {
			return unknown("workload", workload)
		}
		at := 0
		for s.Workloads[at].ID != workload {
			at++
		}
		out, err = (&viewed{v.World(), v}).workload(&s.Workloads[at], actions, takingsFrom(actions, workload))
		return err
	})
	return out, err
}

// takingsFrom are the actions that take places from a workload, by index.
func takingsFrom(actions []allot.Action, workload string) []int {
	return takingsOf(actions, func(_ int, a allot.Action) bool { return a.Workload == workload })
}

// workload explains one workload beside the actions of the plan, of which takings are those that take places from it.
func (w *viewed) workload(source *allot.Workload, actions []allot.Action, takings []int) (*Explanation, error) {
	i, _ := w.view.Workload(source.ID)
	out, err := w.explanation(i, source, actions)
	if err != nil {
		return nil, err
	}
	if len(out.Reasons) > 0 {
		out.Ahead = w.ahead(i, int16(out.Form))
		out.Holders = w.holders(i, int16(out.Form), w.wantedOf(w.FormOf(&w.Works[i], int16(out.Form)), out))
	}
	out.Takings = w.takings(actions, takings)
	return out, nil
}

// A decision is what package allot shows of one, and a viewed decision is it with the
// engine's world at hand.
type decision = view.Decision[allot.Reason, allot.Share]

type viewed struct {
	*cluster.World
	view decision
}
