package allot

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSnapshotSolves: a snapshot decides what Solve does, whatever is asked of
// the decision and in whatever order.
func TestSnapshotSolves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		want := mustSolve(t, s)
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		got := &Plan{Revision: s.Revision, Actions: d.Actions(), Work: want.Work, Warnings: want.Warnings}
		for p, err := range d.Pending() {
			if err != nil {
				t.Fatal(err)
			}
			reasons, err := d.Why(t.Context(), p.Workload)
			if err != nil {
				t.Fatal(err)
			}
			p.Reasons = reasons
			got.Pending = append(got.Pending, p)
		}
		for share, err := range d.Shares() {
			if err != nil {
				t.Fatal(err)
			}
			got.Shares = append(got.Shares, share)
		}
		same(t, "the snapshot's", s, got, want)
		plan, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		plan.Work = want.Work
		same(t, "the snapshot's plan", s, plan, want)
	})
}
