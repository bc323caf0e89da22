// Package report turns results of package sim into tables and files.
//
// # summary.json
//
// One object, of [Summary]: what decided, the seed, hashes of input and trail, and
// the metrics. What there is none of is absent, never 0: jain where no queue has a fair
// share, makespan where some jobs have not ended. leftOut counts by kind what of the input was not run. Waits are of all jobs, of
// the unfinished up to the end of the run, and each group says how many those are;
// completion times, slowdown and rho are of those that ended. Numbers have six digits after the point; times are in seconds, GPU
// time in GPU-hours, parts between 0 and 1. Groups of jobs and ratios are of the jobs
// submitted in the steady window ([sim.Options]); outcomes, evictions, GPU-hours, promises
// (absent where none were made) and queueMetrics are of the whole run. A spread is the number of values, their
// mean, median, 90th and 99th percentile by nearest rank, and the largest. All of it is
// exact, from integers; golang.org/x/exp/stats is not used: it interpolates quantiles,
// and in floats, of which the last digits may differ from machine to machine.
//
// # jobs.csv
//
// A line a job in the order of the input. job, queue, priority, gpus, tasks; submit,
// first_start, end, duration, pending in seconds (empty: it never was); outcome
// (done, failed, cancelled, preempted, unfinished, not-submitted); starts, evictions,
// moves, shrinks as numbers; useful, lost, vain, unsaved, overhead, waiting, leaving as
// GPU-seconds ([sim.JobResult]); slowdown and rho (finish-time fairness), empty where it has not ended.
//
// # left-out.csv
//
// A line for each thing of the input that was not run ([sim.LeftOut]): line of its file, job,
// submit in seconds (each empty where it is not known), kind, why.
//
// # series.csv
//
// A line an instant, every [sim.Options.Sample]. at in seconds; usable, allocated and
// used GPUs; idle GPUs by cause (idle_no-demand, …); reserved, the part of the idle ones
// that is promised to a job; running and queued jobs; then for
// each queue held_NAME and share_NAME in GPUs (empty: its GPUs are not divided).
//
// # events.jsonl
//
// A line an event in its order, an object with at (nanoseconds) and event: submit,
// end (with outcome), checkpoint and stop with their job; change with the change as
// in a trace; and the kinds of actions (start, resize, displace, unclaim, evict,
// shrink, move) with job, tasks (node, devices, podSet, index), from, after, claimed,
// and the reason as its code and its text; and promise with a job and the promise that it
// has from then on, or had up to then ([allot.PlannedReservation]).
//
// # trace.json
//
// The trace-event format that Chrome's about:tracing and ui.perfetto.dev open: a
// process is a node, a thread is one of its GPUs, a slice is a job that holds it, from
// its place to the moment it is told to leave. Of jobs that share a GPU each has a
// thread, as slices of one thread must not overlap: "GPU 00, share 2" is the second
// that runs on GPU 00 at a time. Behind the GPUs, "no GPU" has the tasks without any.
// Times are in microseconds.
//
// # A sweep
//
// [Compare] takes the runs of a sweep together. sweep.json is one object, of [Sweep]: the
// runs with their summaries, the means of [Measures] over the seeds with their 95% confidence
// intervals (Student's t), and the same of the paired differences to the first scheduler,
// seed by seed. runs.csv has a line a run: trace, load, seed, scheduler, partial, fault,
// left_out (how much of the input was not run), and a column a measure. means.csv has a line an estimate: trace, load, scheduler, against (empty
// for a mean), measure, runs, mean, low, high; the last two are empty of a single run.
//
// # page.html
//
// A page that any browser opens, without a network and in light or dark: the schedulers side
// by side with their intervals, and of each run its utilisation, its queues against quota and
// fair share, its waits by size as distributions, and which node and which job
// held places, with evictions and their causes. The data are inside the page as JSON, and a
// script in it draws them; a [Picture] is what is drawn of a run, and bounded: up to 400 rows,
// 3,000 places and 60 jobs. picture.json is that of one run.
package report
