package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
)

// A kindRow sums the nodes of one kind.
type kindRow struct {
	Kind                          string
	Nodes, Full, Part, Empty, Off int
}

// kindsOf sums nodes by what devices they have.
func kindsOf(machines []*machine) []kindRow {
	at := make(map[string]int)
	var rows []kindRow
	for _, m := range machines {
		kind := cmp.Or(modelsOf(m.node), "no GPUs")
		i, ok := at[kind]
		if !ok {
			i = len(rows)
			at[kind] = i
			rows = append(rows, kindRow{Kind: kind})
		}
		r := &rows[i]
		r.Nodes++
		switch levelOf(m) {
		case 0:
			r.Off++
		case 1:
			r.Empty++
		case levels - 1:
			r.Full++
		default:
			r.Part++
		}
	}
	slices.SortStableFunc(rows, func(a, b kindRow) int { return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Kind, b.Kind)) })
	return rows
}

// levels are how full a node can be: out of use, empty, up to half, more, full.
const levels = 5

// levelOf is how full a node is. A node without GPUs is full where it has work.
func levelOf(m *machine) int {
	usable, used := m.gpus()
	switch {
	case m.node.Cordoned || m.node.Lost || usable == 0 && len(m.node.Devices) > 0:
		return 0
	case used == 0 && (len(m.node.Devices) > 0 || len(m.tenants) == 0):
		return 1
	case used >= usable:
		return levels - 1
	case 2*used <= usable:
		return 2
	}
	return 3
}

// A clusterMap has a cell for every node, all of them in Cells; Levels has one
// path for what fills those of a level.
type clusterMap struct {
	Width, Height int
	Cells         string
	Levels        []mapLevel
	Label         string
}

// A mapLevel is the nodes that are as full. From and Height are those of the
// sample in the legend.
type mapLevel struct {
	Class, Text  string
	Path         string
	Nodes        int
	From, Height int
}

// mapOf draws a cell for every node: cells are 10 wide and filled from below.
// There are about three times as many columns as rows.
func mapOf(machines []*machine) *clusterMap {
	const size, gap, sample = 10, 2, 14
	columns := 50
	for columns*columns < 3*len(machines) {
		columns++
	}
	heights := [levels]int{size, 0, 3, 7, size}
	texts := [levels]string{"out of use", "empty", "used up to half", "used by more than half", "full"}
	var paths [levels]strings.Builder
	var numbers [levels]int
	var cells strings.Builder
	v := &clusterMap{Width: columns*(size+gap) - gap, Height: (len(machines)+columns-1)/columns*(size+gap) - gap}
	for i, m := range machines {
		x, y := i%columns*(size+gap), i/columns*(size+gap)
		level := levelOf(m)
		numbers[level]++
		fmt.Fprintf(&cells, "M%d %dh%dv%dh-%dz", x, y, size, size, size)
		if h := heights[level]; h > 0 {
			fmt.Fprintf(&paths[level], "M%d %dh%dv%dh-%dz", x, y+size-h, size, h, size)
		}
	}
	v.Cells = cells.String()
	var counts []string
	for i := levels - 1; i >= 0; i-- {
		if numbers[i] == 0 {
			continue
		}
		h := heights[i] * sample / size
		v.Levels = append(v.Levels, mapLevel{"l" + strconv.Itoa(i), texts[i], paths[i].String(), numbers[i], sample - h, h})
		counts = append(counts, strconv.Itoa(numbers[i])+" "+texts[i])
	}
	v.Label = "A cell for each of " + prose.Count(len(machines), "node") + ": " + strings.Join(counts, ", ")
	return v
}
