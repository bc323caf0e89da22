package allot

import (
	"testing"
)

func TestZZFix(t *testing.T) {
	bad := 0
	for seed := range uint64(60000) {
		s := genDense(seed + 5_000_000)
		if Check(s) != nil {
			continue
		}
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Apply(s, p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Solve(a)
		if err != nil {
			t.Fatal(err)
		}
		if len(q.Actions) > 0 {
			bad++
			if bad < 3 {
				t.Errorf("seed %d: %s\nafter %s\nof %s", seed, q.Text(), p.Text(), compact(s))
			}
		}
		if err := Verify(s, p); err != nil {
			t.Errorf("seed %d verify %v", seed, err)
		}
	}
	t.Log("bad", bad)
}
