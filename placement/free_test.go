package placement

import "testing"

// M8: what is free on a node at most is never less than what is free on it: parts
// of devices are rounded up, and what is over-committed is nothing.
func TestMostFree(t *testing.T) {
	x := mustIndex(t, plain([]Device{{Memory: 3}, {Memory: 3}}, 4), plain(gpus(1), 4))
	if got := x.MostFree(0, 0); got != 2000 {
		t.Errorf("%d of 2 free devices", got)
	}
	mustTake(t, x, Request{Set: -1, Devices: 1, Memory: 1, Amounts: amounts(0, 3)}, Place{Node: 0, Devices: 1})
	if got, all := x.MostFree(0, 0), x.Free(-1).Milli; got != 1667 || all != 2666 {
		t.Errorf("%d free of a device and 2/3 of another, %d in all", got, all)
	}
	if got := x.MostFree(0, 1); got != 1 {
		t.Errorf("%d of the resource, want 1", got)
	}
	mustTake(t, x, Request{Set: -1, Devices: 1, Milli: 1000, Amounts: amounts(0, 5)}, Place{Node: 1, Devices: 1})
	if cpu, gpu := x.MostFree(1, 1), x.MostFree(1, 0); cpu != 0 || gpu != 0 {
		t.Errorf("%d and %d on the over-used node", cpu, gpu)
	}
}
