// Package replay runs traces through the library, under one scheduler after the other, and
// says what each would have made of them; the command is allot replay. Options.Out is a
// folder for the files of each run: summary.json, jobs.csv, left-out.csv, series.csv,
// events.jsonl and trace.json, which ui.perfetto.dev opens; and beside them, of all runs, sweep.json,
// runs.csv, means.csv and page.html, which any browser opens without a network, with means
// over the seeds, their 95% confidence intervals and the paired differences to the first
// scheduler. Their columns are told in package sim/report, the formats of traces in package
// sim/trace.
//
// Without a trace it makes one, by a seed: what is asked and how long it takes as on
// Microsoft's Philly clusters, by tenants who come in bursts.
//
// What comes out is the same every time. Progress is told to a [Meter]. When the context
// ends, so do all runs, and what there is stands in the [Sweep], marked as partial.
package replay
