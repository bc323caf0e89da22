package units

import (
	"testing"

	"github.com/allotsched/allot"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		text string
		want int64
		bad  bool
	}{
		{Of(allot.GPU), "4", 4000, false}, {Of(allot.GPU), "0.5", 500, false}, {Of(allot.GPU), "4 GPUs", 4000, false}, {Of(allot.GPU), "500m", 500, false},
		{Of(allot.GPU), ".25", 250, false}, {Of(allot.GPU), "-1", -1000, false}, {Of(allot.GPU), "0.0005", 0, true}, {Of(allot.GPU), "256Gi", 0, true},
		{Of(allot.CPU), "64 cores", 64000, false}, {Of(allot.CPU), "1 core", 1000, false}, {Of(allot.CPU), "1500m", 1500, false},
		{Of(allot.Memory), "256Gi", 256 << 30, false}, {Of(allot.Memory), "1.5 GiB", 3 << 29, false}, {Of(allot.Memory), "80GB", 80e9, false}, {Of(allot.Memory), "7", 7, false},
		{Of(allot.Memory), "0.5", 0, true}, {Of(allot.Memory), "99999999999Ei", 0, true}, {Of("rdma"), "4", 4, false}, {Of("rdma"), "4 rdma", 4, false}, {Of("rdma"), "4 nics", 0, true},
		{Seconds(), "10m", 600, false}, {Seconds(), "1.5h", 5400, false}, {Seconds(), "90", 90, false}, {Seconds(), "1w", 0, true},
		{Of(allot.GPU), "", 0, true}, {Of(allot.GPU), "-", 0, true}, {Of(allot.GPU), "1.2.3", 0, true}, {Of(allot.GPU), "four", 0, true}, {Of(allot.GPU), "1e3", 0, true},
	} {
		got, err := test.kind.Parse(test.text)
		if (err != nil) != test.bad || got != test.want {
			t.Errorf("%q is %d, error %v, want %d", test.text, got, err, test.want)
		}
	}
}

// What is written is read as the same.
func TestText(t *testing.T) {
	for _, kind := range []Kind{Of(allot.GPU), Of(allot.CPU), Of(allot.Memory), Of("rdma"), Seconds()} {
		for _, n := range []int64{0, 1, 60, 500, 1000, 1024, 3600, 86400, 1 << 30, 3 << 40, allot.MaxAmount, 123456789} {
			if got, err := kind.Parse(kind.Text(n)); err != nil || got != n {
				t.Errorf("%d %s is written %q and read as %d, error %v", n, kind.name, kind.Text(n), got, err)
			}
		}
	}
}
