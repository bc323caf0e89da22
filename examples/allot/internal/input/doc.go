// Package input reads states, changes and workloads as people write them: YAML or JSON,
// amounts with units, presets of policies by name, devices by their number, several
// files that make one state. It also writes a state in that form, and what is read of
// it is the same state again, exactly, with times to the microsecond as in its JSON.
//
// # The two forms
//
// A document that says "version: 1" is in the exact form, the library's JSON: bare
// numbers are in thousandths of GPUs and cores, in bytes and seconds. A document that
// does not is in the form for people: bare numbers are GPUs and cores, "0.5" is half of
// one, and amounts may have units ("64 cores", "256Gi", "4 GPUs", "10m"). A text with a
// unit means the same in both. Everything else is alike: the names of the fields are
// those of [allot.State], and the same things are refused.
//
// Beside the fields of the state both take
//
//	policy: runai                      of a pool, or of the document, if it has no pools
//	policy: {preset: runai, order: …}  a preset with fields of its own above it
//	devices: 8                         of a node: so many
//	devices: [{count: 8, model: H100}] so many alike
//	gpu: 2, gpu: 0.5, gpu: 40Gi        of a request: devices, a part or memory of one
//
// # How
//
// A document is read into a tree of YAML, of which JSON is a part, and walked side by
// side with the form of the JSON ([jsonform.Form]), which says what each field is. What
// comes out is the exact JSON, which the library itself reads, so that it alone says
// what is right. A fault is told with file and line ([Fault]): they are looked for when
// there is one.
//
// # Limits
//
// A file has at most [MaxFile] bytes as JSON in the exact form and [MaxYAML] in any
// other; aliases may unfold to no more. What parts values of YAML (commas, colons, lines)
// is bounded too, and so are objects by the bytes that they take: reading 16 MiB takes less
// than 2 GiB, whatever is in them, and JSON in the exact form in proportion. Of more than
// 1000 faults the first are told.
package input
