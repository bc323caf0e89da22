package fairshare

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// derivable draws a tree of three levels for a method.
func derivable(r *rand.Rand, m Method) TreeConfig {
	c := TreeConfig{Capacity: r.Int64N(40), Method: m, Options: Options{Granule: 1 + r.Int64N(4), EqualAtZeroWeight: r.IntN(2) == 0}}
	parents := []int32{-1}
	for i := range int32(3 + r.IntN(10)) {
		q := Queue{
			Parent: parents[r.IntN(len(parents))], Quota: r.Int64N(8), Limit: Unlimited,
			Weight: r.Int64N(4), Tier: int32(r.IntN(2)), Created: r.Int64N(3),
		}
		if r.IntN(4) == 0 {
			q.Limit = r.Int64N(12)
		}
		if r.IntN(3) == 0 {
			q.Keep = r.Int64N(8)
		}
		if q.Parent < 0 || c.Queues[q.Parent].Parent < 0 {
			parents = append(parents, i)
		}
		c.Queues = append(c.Queues, q)
	}
	for i := range c.Queues {
		leaf := true
		for _, other := range c.Queues {
			leaf = leaf && other.Parent != int32(i)
		}
		if leaf {
			c.Queues[i].Demand = Demand{Preemptible: r.Int64N(20), NonPreemptible: r.Int64N(6), Unit: r.Int64N(3)}
		}
	}
	return c
}

// What is derived is what is divided, and every group adds up; a group of which
// nobody was outbid leaves what nobody can use.
func TestDerive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ends := make(map[End]int)
	for range 3000 {
		c := derivable(r, Method(r.IntN(3)))
		shares, err := DivideTree(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		queue := r.IntN(len(c.Queues))
		list, err := Derive(c, queue)
		if err != nil {
			t.Fatal(err)
		}
		last := list[len(list)-1]
		if list[0].Parent != -1 || last.Parent != c.Queues[queue].Parent {
			t.Fatalf("the path of %d is %v", queue, list)
		}
		for _, d := range list {
			surplus, outbid := int64(0), false
			for _, m := range d.Members {
				if m.Share != shares[m.Queue] || c.Queues[m.Queue].Parent != d.Parent {
					t.Fatalf("%+v of %+v", m, shares)
				}
				if m.QuotaPart+m.SurplusPart != m.FairShare || m.SurplusPart > m.Granules*d.Granule || m.SurplusPart <= (m.Granules-1)*d.Granule && m.Granules > 0 {
					t.Fatalf("%+v does not add up", m)
				}
				ends[m.End]++
				surplus += m.SurplusPart
				outbid = outbid || m.End == Outbid
				if (m.End == Satisfied) != (m.FairShare == m.Requestable) {
					t.Fatalf("%+v ends so", m)
				}
			}
			left := d.Tiers[len(d.Tiers)-1].Left
			if d.Tiers[0].Surplus != d.Surplus || left != d.Surplus-surplus || outbid && left > 0 && len(d.Tiers) == 1 {
				t.Fatalf("%+v does not add up", d)
			}
		}
	}
	for end := Satisfied; end <= Outbid; end++ {
		if ends[end] < 100 {
			t.Errorf("only %d ends %v", ends[end], end)
		}
	}
}

func TestDeriveRefuses(t *testing.T) {
	var fault *InputError
	if _, err := Derive(TreeConfig{}, 0); !errors.As(err, &fault) || fault.Fault != NoSuchParent {
		t.Error(err)
	}
	if _, err := Derive(TreeConfig{Method: 9}, 0); !errors.As(err, &fault) || fault.Fault != UnknownMethod {
		t.Error(err)
	}
}

func TestEndText(t *testing.T) {
	for end := Satisfied; end.Valid(); end++ {
		text, err := end.MarshalText()
		var back End
		if err != nil || back.UnmarshalText(text) != nil || back != end {
			t.Error(end, err)
		}
	}
	if _, err := End(9).MarshalText(); err == nil || End(9).String() != "End(9)" || new(End).UnmarshalText([]byte("x")) == nil {
		t.Error("an end that there is not")
	}
}
