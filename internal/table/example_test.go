package table_test

import (
	"fmt"

	"github.com/allotsched/allot/internal/table"
)

type price struct {
	fruit string
	cents int
}

func Example() {
	list := []*price{{"apple", 30}, {"pear", 40}}
	was := table.New([]string{"apple", "pear"}, list)
	is := was.Put("plum", &price{"plum", 50}).Put("pear", &price{"pear", 45}).Remove("apple")

	for p := range was.All() {
		fmt.Println("was", p.fruit, p.cents)
	}
	for _, d := range table.Differences(was, is) {
		switch {
		case d.Before == nil:
			fmt.Println("came", d.After.fruit)
		case d.After == nil:
			fmt.Println("went", d.Before.fruit)
		default:
			fmt.Println("changed", d.Before.fruit, d.Before.cents, d.After.cents)
		}
	}
	// Output:
	// was apple 30
	// was pear 40
	// went apple
	// changed pear 40 45
	// came plum
}
