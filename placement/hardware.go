package placement

// A Hardware is what is inside a node of a known make: how many devices, and how
// sockets, PCIe switches and NVLinks join them (T1, T4). Nothing of it can be
// changed; the zero Hardware has no devices.
type Hardware struct{ make *hardware }

// hardware is one make, read only.
type hardware struct {
	name, about, source string
	// sockets and switches are by device, numbered from 1; 0 is not known.
	sockets, switches []int32
	// full is how many NVLinks join every two devices, by an NVSwitch or in a full
	// mesh. Where that is not one number for all, rows has them by device.
	full int32
	rows [][]int32
}

// makes are by name. The sources are outputs of 'nvidia-smi topo -m' and vendors'
// pages; a device whose PCIe path to another is not told has a switch of its own.
var makes = [...]*hardware{
	{
		name: "cube-mesh-8", about: "8 GPUs in a hybrid cube mesh: DGX-1 with V100",
		source:  "gist.github.com/ashwin/e139748bdba15f5af63f0146d01ee4c3 (a DGX-1)",
		sockets: []int32{1, 1, 1, 1, 2, 2, 2, 2}, switches: []int32{1, 1, 2, 2, 3, 3, 4, 4},
		rows: [][]int32{
			{0, 1, 1, 2, 2, 0, 0, 0},
			{1, 0, 2, 1, 0, 2, 0, 0},
			{1, 2, 0, 2, 0, 0, 1, 0},
			{2, 1, 2, 0, 0, 0, 0, 1},
			{2, 0, 0, 0, 0, 1, 1, 2},
			{0, 2, 0, 0, 1, 0, 2, 1},
			{0, 0, 1, 0, 1, 2, 0, 2},
			{0, 0, 0, 1, 2, 1, 2, 0},
		},
	},
	{
		name: "nvl72-tray", about: "a compute tray with 4 GPUs of a GB200 or GB300 NVL72 rack, in which an NVSwitch joins all trays",
		source:  "github.com/NVIDIA/k8s-test-infra/issues/371 (a GB200)",
		sockets: []int32{1, 1, 2, 2}, switches: []int32{1, 2, 3, 4}, full: 18,
	},
	{
		name: "nvlink-4", about: "4 GPUs of which NVLinks join every two without a switch: HGX H100 4-GPU",
		source:  "github.com/NVIDIA/nccl/issues/1617 (4 × H100; 4 NUMA domains a socket)",
		sockets: []int32{1, 1, 2, 2}, switches: []int32{1, 2, 3, 4}, full: 6,
	},
	{
		name: "nvlink-pairs-4", about: "4 GPUs in two pairs with NVLinks, a pair on each socket: IBM AC922 with 4 V100",
		source:  "IBM Power System AC922, Introduction and Technical Overview, REDP-5472",
		sockets: []int32{1, 1, 2, 2}, switches: []int32{1, 2, 3, 4},
		rows: [][]int32{{0, 3, 0, 0}, {3, 0, 0, 0}, {0, 0, 0, 3}, {0, 0, 3, 0}},
	},
	{
		name: "nvswitch-16", about: "16 GPUs on NVSwitches: DGX-2",
		source:   "github.com/NVIDIA/nccl-tests/issues/78 (a DGX-2)",
		sockets:  []int32{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2},
		switches: []int32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8}, full: 6,
	},
	{
		name: "nvswitch-8", about: "8 GPUs on NVSwitches: DGX and HGX with H100, H200, B200 or B300",
		source:  "github.com/NVIDIA/nccl/issues/1264 (HGX H100)",
		sockets: []int32{1, 1, 1, 1, 2, 2, 2, 2}, switches: []int32{1, 2, 3, 4, 5, 6, 7, 8}, full: 18,
	},
	{
		name: "nvswitch-8-a100", about: "8 GPUs on NVSwitches, two on a PCIe switch: DGX A100",
		source:  "github.com/NVIDIA/nccl/issues/1505 (a DGX A100)",
		sockets: []int32{1, 1, 1, 1, 2, 2, 2, 2}, switches: []int32{1, 1, 2, 2, 3, 3, 4, 4}, full: 12,
	},
	{
		name: "pcie-4", about: "4 GPUs without NVLinks, two on each socket, without a PCIe switch",
		source:  "gist.github.com/ashwin/e139748bdba15f5af63f0146d01ee4c3 (its third node)",
		sockets: []int32{1, 1, 2, 2}, switches: []int32{1, 2, 3, 4},
	},
	{
		name: "pcie-8", about: "8 GPUs without NVLinks, two on a PCIe switch and two switches on each socket",
		source:  "Supermicro, PCIe root architectures of the 4U GPU system: the dual root SYS-4029GP-TRT",
		sockets: []int32{1, 1, 1, 1, 2, 2, 2, 2}, switches: []int32{1, 1, 2, 2, 3, 3, 4, 4},
	},
}

// HardwareNamed returns the hardware of that name, and whether there is one.
func HardwareNamed(name string) (Hardware, bool) {
	for _, m := range makes {
		if m.name == name {
			return Hardware{m}, true
		}
	}
	return Hardware{}, false
}

// HardwareNames returns the names of all known hardware, ascending:
//
//	cube-mesh-8      8 GPUs in a hybrid cube mesh: DGX-1 with V100
//	nvl72-tray       4 GPUs of a GB200 or GB300 NVL72 rack
//	nvlink-4         4 GPUs, NVLinks between every two: HGX H100 4-GPU
//	nvlink-pairs-4   4 GPUs in two pairs with NVLinks: IBM AC922
//	nvswitch-16      16 GPUs on NVSwitches: DGX-2
//	nvswitch-8       8 GPUs on NVSwitches: DGX and HGX with H100, H200, B200, B300
//	nvswitch-8-a100  8 GPUs on NVSwitches, two on a PCIe switch: DGX A100
//	pcie-4           4 GPUs, two on each socket
//	pcie-8           8 GPUs, two on a PCIe switch, four on each socket
func HardwareNames() []string {
	var names []string
	for _, m := range makes {
		names = append(names, m.name)
	}
	return names
}

// Name is the name for [HardwareNamed]; empty for the zero Hardware.
func (h Hardware) Name() string {
	if h.make == nil {
		return ""
	}
	return h.make.name
}

// About says in a few words what machines are such.
func (h Hardware) About() string {
	if h.make == nil {
		return ""
	}
	return h.make.about
}

// Source says where it is described.
func (h Hardware) Source() string {
	if h.make == nil {
		return ""
	}
	return h.make.source
}

// Devices is the number of devices.
func (h Hardware) Devices() int {
	if h.make == nil {
		return 0
	}
	return len(h.make.sockets)
}

// Socket is the NUMA socket of a device, from 1 on; 0 is not known, also where
// there is no such device.
func (h Hardware) Socket(device int) int32 {
	if device < 0 || device >= h.Devices() {
		return 0
	}
	return h.make.sockets[device]
}

// Switch is the PCIe switch of a device, from 1 on; 0 is not known, also where
// there is no such device.
func (h Hardware) Switch(device int) int32 {
	if device < 0 || device >= h.Devices() {
		return 0
	}
	return h.make.switches[device]
}

// NVLinks is the number of NVLinks that join two devices; 0 also where there are
// no such devices.
func (h Hardware) NVLinks(a, b int) int32 {
	if a == b || min(a, b) < 0 || max(a, b) >= h.Devices() {
		return 0
	}
	if h.make.rows != nil {
		return h.make.rows[a][b]
	}
	return h.make.full
}

// Links lists the pairs that NVLinks join, as [Node.Links] has them, with what
// overrides says of some instead: those that are 0 there are left out. The result
// is the caller's, ordered by A, then B, with A below B. The zero
// Hardware has the overrides alone.
func (h Hardware) Links(overrides []Link) []Link {
	n := h.Devices()
	for _, o := range overrides {
		n = max(n, int(o.A)+1, int(o.B)+1)
	}
	n = min(n, MaxDevices)
	said := make([]int, n*n) // by pair: one more than the first override of it, 0 where there is none
	for i, o := range overrides {
		if a, b := int(min(o.A, o.B)), int(max(o.A, o.B)); a >= 0 && b < n && said[a*n+b] == 0 {
			said[a*n+b] = i + 1
		}
	}
	var links []Link
	for a := range n {
		for b := a + 1; b < n; b++ {
			l := Link{A: int32(a), B: int32(b), NVLinks: h.NVLinks(a, b)}
			if at := said[a*n+b]; at > 0 {
				l.NVLinks = overrides[at-1].NVLinks
			}
			if l.NVLinks != 0 {
				links = append(links, l)
			}
		}
	}
	return links
}
