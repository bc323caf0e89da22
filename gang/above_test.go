package gang

import "testing"

// O1, G2: above the minimum means that a task could be spared.
func TestAboveMinimum(t *testing.T) {
	elastic := []Set{{Count: 4, Min: 2, Submitted: 4, Parent: -1}, {Count: 1, Min: 1, Submitted: 1, Parent: -1}}
	choice := []Set{
		{Count: 2, Min: 2, Submitted: 2, Parent: 0},
		{Count: 2, Min: 2, Submitted: 2, Parent: 0},
	}
	oneOfTwo := []Group{{Parent: -1, Min: 1}}
	for _, row := range []struct {
		why    string
		sets   []Set
		groups []Group
		held   []int32
		want   bool
	}{
		{"below the minimum", elastic, nil, []int32{1, 1}, false},
		{"at the minimum", elastic, nil, []int32{2, 1}, false},
		{"one more", elastic, nil, []int32{3, 1}, true},
		{"one of two children", choice, oneOfTwo, []int32{2, 0}, false},
		{"and a part of the other", choice, oneOfTwo, []int32{2, 1}, true},
		{"both children", choice, oneOfTwo, []int32{2, 2}, true},
		{"nothing", choice, oneOfTwo, []int32{0, 0}, false},
	} {
		g, err := New(row.sets, row.groups)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.AboveMinimum(row.held); got != row.want {
			t.Errorf("%s: AboveMinimum(%v) = %v, want %v", row.why, row.held, got, row.want)
		}
	}
}
