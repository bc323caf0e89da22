package placement

import (
	"errors"
	"fmt"

	"github.com/allotsched/allot/quota"
)

// occupied is what no shape describes, on one node.
type occupied struct {
	amounts             quota.Amounts
	devices             []DeviceUse
	slots, cpuOnlySlots int32
}

// Occupy takes from a node what no shape describes, such as the larger of what
// leaves and what is claimed (S4). What is free may go below zero. The change is
// journaled while a mark is outstanding; the slices must not change until the
// mark ends. Nothing changes where there is an error: a place that does not
// exist, a negative amount or an overflow.
func (x *Index) Occupy(node int32, amounts quota.Amounts, devices []DeviceUse, slots, cpuOnlySlots int32) error {
	return x.changeOccupied(node, &occupied{amounts, devices, slots, cpuOnlySlots}, false)
}

// Vacate frees what Occupy took, or a part of it, so that a caller can ask what
// would fit were it gone; the rest is as with Occupy.
func (x *Index) Vacate(node int32, amounts quota.Amounts, devices []DeviceUse, slots, cpuOnlySlots int32) error {
	return x.changeOccupied(node, &occupied{amounts, devices, slots, cpuOnlySlots}, true)
}

func (x *Index) changeOccupied(node int32, o *occupied, give bool) error {
	if err := x.checkShift(node, o, give); err != nil {
		return err
	}
	x.shift(node, o, give)
	if x.journal.depth > 0 {
		x.journal.entries = append(x.journal.entries, entry{place: Place{Node: node}, gave: give, occupied: o})
	}
	return nil
}

func (x *Index) checkShift(node int32, o *occupied, give bool) error {
	if node < 0 || int(node) >= len(x.nodes) {
		return fmt.Errorf("placement: no node %d", node)
	}
	if err := o.amounts.Validate(x.resources); err != nil {
		return fmt.Errorf("placement: %w", err)
	}
	if o.slots < 0 || o.cpuOnlySlots < 0 {
		return errors.New("placement: negative slots")
	}
	nd, sign := &x.nodes[node], signOf(give)
	var touched uint64
	for _, use := range o.devices {
		if use.Device < 0 || use.Device >= len(x.layouts[nd.layout].scale) || touched&(1<<use.Device) != 0 {
			return fmt.Errorf("placement: no device %d on node %d, or named twice", use.Device, node)
		}
		touched |= 1 << use.Device
		if _, ok := add(x.left[int(nd.devices)+use.Device], sign*use.Units); !ok || use.Units < 0 {
			return errOverflow
		}
	}
	free := x.freeOf(node)
	for _, a := range o.amounts {
		if _, ok := add(free[a.Resource], sign*a.Value); !ok {
			return errOverflow
		}
	}
	return nil
}

// shift takes or frees what is occupied.
func (x *Index) shift(node int32, o *occupied, give bool) {
	nd, sign := &x.nodes[node], signOf(give)
	x.moved.push(node)
	if give {
		x.grown.push(node)
		x.opened.push(node)
	}
	free := x.freeOf(node)
	for _, a := range o.amounts {
		free[a.Resource] += sign * a.Value
	}
	var touched uint64
	for _, use := range o.devices {
		touched |= 1 << use.Device
		x.left[int(nd.devices)+use.Device] += sign * use.Units
	}
	nd.slots += sign * int64(o.slots)
	nd.cpuOnlySlots += sign * int64(o.cpuOnlySlots)
	x.settle(node, touched)
	x.rankAll(node)
}
