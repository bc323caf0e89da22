package prose_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/prose"
)

func Example() {
	fmt.Println(prose.Count(3, "task") + " of " + prose.Word("my train") + " ask " + prose.Amount("gpu", 1500))
	fmt.Println("on devices", prose.Ranges([]int{0, 1, 2, 5}), "of", prose.Some([]string{"n1", "n2", "n3"}, ", ", 2))
	// Output:
	// 3 tasks of "my train" ask 1.5 GPUs
	// on devices [0-2,5] of n1, n2 and 1 more
}

func ExampleTable() {
	type node struct {
		name string
		free int64
	}
	fmt.Print(prose.Table("  ", []prose.Column[node]{
		{Head: "node", Cell: func(n *node) string { return prose.Word(n.name) }},
		{Head: "free", Cell: func(n *node) string { return prose.Figure("gpu", n.free) }},
	}, []node{{"n1", 500}, {"rack 2/n17", 8000}}))
	// Output:
	//   node          free
	//   n1            0.5
	//   "rack 2/n17"  8
}
