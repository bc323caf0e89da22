package main

const usage = `Usage: solve [flags] FILE

Reads a state as JSON from FILE, or from standard input if FILE is -, and
prints the plan: what starts where, what waits and why, and the figures of
every queue.

`

const usageInput = `
Exit codes: 0 there is a plan, even if everything waits; 1 the input is
malformed (every fault is printed to standard error, with its path), cannot be
read, or the plan is not lawful; 2 usage.

The input is the JSON form of allot.State, whose fields are told at
https://pkg.go.dev/github.com/allotsched/allot#State. It is strict: unknown
fields are faults. GPU and CPU are in thousandths, memory is in bytes. For
example:

`

// sample is the example of the input in the help, itself a good one.
const sample = `{
  "version": 1,
  "nodes": [
    {
      "id": "node-a",
      "capacity": {"cpu": 64000, "memory": 549755813888},
      "devices": [{"model": "H100"}, {"model": "H100"}]
    }
  ],
  "queues": [
    {"id": "research", "resources": [{"resource": "gpu", "quota": 1000}]},
    {"id": "product", "resources": [{"resource": "gpu", "quota": 1000}]}
  ],
  "workloads": [
    {
      "id": "train",
      "queue": "research",
      "podSets": [
        {"count": 2, "request": {"gpu": {"count": 1}, "resources": {"cpu": 8000}}}
      ]
    }
  ]
}
`
