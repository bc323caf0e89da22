package trace

import (
	"io"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// Openb reads the nodes and pods of Alibaba's cluster-trace-gpu-v2023, with the
// columns sn, cpu_milli, memory_mib, gpu, model, and name, cpu_milli, memory_mib,
// num_gpu, gpu_milli, gpu_spec, creation_time, deletion_time, scheduled_time
// (seconds). A pod runs for as long as it did there: from when it was scheduled, or
// created where that is not said, to its deletion, and at least a second. A pod without
// those times is left out. Pods that failed there fail here.
func Openb(nodes, pods io.Reader) (*sim.Input, error) {
	in := &sim.Input{}
	const maxAmount, maxMiB = 1 << 40, 1 << 32
	err := plainCSV.readBeside("openb nodes", "node", nodes, in, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(r *row) {
		n := allot.Node{ID: r.text("sn"), Capacity: map[string]int64{
			allot.CPU: r.number("cpu_milli", 0, maxAmount), allot.Memory: r.number("memory_mib", 0, maxMiB) << 20,
		}}
		for range r.number("gpu", 0, 64) {
			n.Devices = append(n.Devices, allot.Device{Model: r.text("model")})
		}
		if r.err == nil {
			in.Cluster.Nodes = append(in.Cluster.Nodes, n)
		}
	})
	if err != nil {
		return nil, err
	}
	columns := []string{"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
	err = readJobs("openb pods", pods, in, "name", columns, func(r *row) sim.Job {
		j := sim.Job{Submit: r.arrives(r.times("creation_time", time.Second)), Fails: r.text("pod_phase") == "Failed"}
		request := allot.Request{Resources: map[string]int64{
			allot.CPU: r.number("cpu_milli", 0, maxAmount), allot.Memory: r.number("memory_mib", 0, maxMiB) << 20,
		}}
		if gpus := int(r.number("num_gpu", 0, 64)); gpus > 0 {
			request.GPU = allot.GPURequest{Count: gpus, Milli: r.number("gpu_milli", 1, 1000) % 1000}
			if spec := r.text("gpu_spec"); spec != "" {
				request.GPU.Models = strings.Split(spec, "|")
			}
		}
		began := j.Submit
		if r.text("scheduled_time") != "" {
			began = r.times("scheduled_time", time.Second)
		}
		end := r.times("deletion_time", time.Second)
		if end < began {
			r.fail("deletion_time", "it is before it began")
		}
		j.Duration = max(end-began, time.Second)
		j.Workload = allot.Workload{ID: r.text("name"), PodSets: []allot.PodSet{{Count: 1, Request: request}}}
		return j
	})
	lineUp(in, false)
	return in, err
}
