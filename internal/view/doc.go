// Package view is how package explain sees what package allot has decided: the engine's
// world and outcome, to be read, and the names of what is in them.
//
// A Decision and a Snapshot of package allot hand out what these interfaces say. As they
// are internal, no code outside of the module can name them, and what they show may change
// with the engine: a host asks package explain.
//
// # Invariants
//
//   - What is seen is read, and nothing in it is set: a question leaves the world as it
//     was, but for what the engine remembers of its own answers.
//   - One question is asked at a time: [Decision] is shown under the lock of what was decided, and
//     a [Probe] belongs to the one that asked for it.
//   - A name and a reason are made in package allot and nowhere else: a view decides
//     nothing, and has no second copy of any search.
//
// The types of package allot that a view speaks of are parameters, as allot imports this
// package. All is in constant time beside what the engine says of its own functions.
//
// # Example
//
// The queue of workload "train" is names.QueueID(f.Pool, f.Queue), where
// f is world.FormOf(&world.Works[i], 0) and i names.Workload("train").
package view
