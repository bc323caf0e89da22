package cluster

import (
	"slices"
	"testing"

	"github.com/allotsched/allot/placement"
)

// M11: devices are alike where nothing tells them apart, and they are joined alike to all others (T4) and set aside
// alike (B9).
func TestAlikeDevices(t *testing.T) {
	for _, row := range []struct {
		why  string
		node placement.Node
		want []int32
	}{
		{"nothing tells them apart", placement.Node{Devices: make([]placement.Device, 3)}, []int32{0, 0, 0}},
		{"one is unhealthy", placement.Node{Devices: []placement.Device{{}, {Unhealthy: true}, {}}}, []int32{0, 1, 0}},
		{"the two that are joined are", placement.Node{
			Devices: make([]placement.Device, 4), Links: []placement.Link{{A: 0, B: 2, NVLinks: 4}},
		}, []int32{0, 1, 0, 1}},
		{"of the pairs one is joined by less", placement.Node{
			Devices: make([]placement.Device, 4), Links: []placement.Link{{A: 0, B: 1, NVLinks: 4}, {A: 3, B: 2, NVLinks: 2}},
		}, []int32{0, 0, 2, 2}},
		{"one is joined to more", placement.Node{
			Devices: make([]placement.Device, 3), Links: []placement.Link{{A: 0, B: 1, NVLinks: 4}, {A: 1, B: 2, NVLinks: 4}},
		}, []int32{0, 1, 0}},
		{"one is set aside", placement.Node{
			Devices: make([]placement.Device, 2), Parts: []placement.Part{{Set: 1, Devices: 2}},
		}, []int32{0, 1}},
	} {
		if got := AlikeDevices(&row.node); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, not %v", row.why, got, row.want)
		}
	}
}
