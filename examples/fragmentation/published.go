package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/placement"
)

// published are the strategies of the published table, in its order.
var published = []placement.Strategy{
	placement.Random, placement.DotProduct, placement.GPUClustering, placement.GPUPacking, placement.BestFit,
	placement.FragmentationGradient,
}

// usual are those that run unless the command line says otherwise: ours beside
// the published ones.
var usual = append(slices.Clone(published), placement.ShadowPrice)

//go:embed published.csv
var publishedTable []byte

// publishedPercent is the load at which the figures of the table are.
const publishedPercent = 100

// A publishedKey is a cell of the published table.
type publishedKey struct {
	workload, policy string
	seed             int64
}

// publishedCells reads the table: what is allocated in hundredths of a percent.
func publishedCells(table []byte) (map[publishedKey]int64, error) {
	r := csv.NewReader(bytes.NewReader(table))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	out := make(map[publishedKey]int64)
	for _, row := range rows[1:] {
		for i, text := range row[2:] {
			seed, err := strconv.ParseInt(rows[0][2+i], 10, 64)
			if err != nil {
				return nil, err
			}
			value, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
			if err != nil {
				return nil, err
			}
			out[publishedKey{row[0], row[1], seed}] = value
		}
	}
	return out, nil
}

// publishedMean is the mean over the seeds, in hundredths of a percent; ok is false
// unless all are published.
func publishedMean(cells map[publishedKey]int64, workload, policy string, seeds []int64) (mean int64, ok bool) {
	for _, seed := range seeds {
		cell, ok := cells[publishedKey{workload, policy, seed}]
		if !ok {
			return 0, false
		}
		mean += cell
	}
	return halfToEven(mean, int64(len(seeds))), true
}

// fingerprints of the published workloads: what their pods ask, whatever the pods
// are called, and the nodes.
var fingerprints = map[uint64]string{
	0x359a2e6a00706bff: "default",
	0xf73d0b28385f4f1f: "cpu250",
	0x05d8fb6e999e04a7: "gpushare100",
	0xd46060aee6cffa23: "gpuspec33",
	0xb8f2a185f22d2ee5: "multigpu50",
}

// nodesFingerprint is that of the published cluster.
const nodesFingerprint = 0x60039e757a9f1581

// nameOf recognises a published workload; empty if it is none.
func nameOf(c *cluster, w *workload) string {
	lines := make([]string, len(c.machines))
	for i, m := range c.machines {
		lines[i] = fmt.Sprint(m.cpuMilli, m.memoryMiB, m.gpus, m.model)
	}
	if fingerprint(lines) != nodesFingerprint {
		return ""
	}
	lines = make([]string, len(w.pods))
	for i := range w.pods {
		d := &w.pods[i].demand
		lines[i] = fmt.Sprint(d.cpuMilli, d.memoryMiB, d.gpus, d.gpuMilli, d.models)
	}
	return fingerprints[fingerprint(lines)]
}

// fingerprint does not mind the order of the lines.
func fingerprint(lines []string) uint64 {
	slices.Sort(lines)
	h := fnv.New64a()
	for _, line := range lines {
		h.Write([]byte(line + "\n"))
	}
	return h.Sum64()
}
