// Package trace reads, writes and makes inputs for package sim.
//
// # The native format
//
// A trace is a text of JSON values, one a line, each an object with one key that
// says what it is. The first line is the header; the others may come in any order,
// but of two jobs submitted at once the one with the lower ID comes first.
//
//	{"trace":{"version":1,"name":"two teams"}}
//	{"node":{"id":"n0","devices":[{},{},{},{}]}}
//	{"queue":{"id":"vision","resources":[{"resource":"gpu","quota":4000}]}}
//	{"job":{"submit":0,"duration":60000000000,"workload":{"id":"a","queue":"vision","podSets":[{"count":2,"request":{"gpu":{"count":1}}}]}}}
//	{"change":{"at":30000000000,"kind":"node-lost","node":"n0"}}
//
// The keys are node, pool, queue, budget (as in the JSON of [allot.State]), job and
// change. Times and durations are whole nanoseconds, instants since the zero of the
// trace. A job has submit, duration, workload, and where they are not zero estimate,
// fails, cancelAfter, speed (a list, see [sim.Job]) and costs (start, grace, loses,
// checkpoint, save, restore). Unknown keys are errors. [Write] writes what [Read]
// reads, and a trace has one form. A node has up to 64 GPUs, all of them together up to 2^20.
//
// # What is read beside
//
// Every reader takes plain or gzipped text, and gives jobs IDs that sort as the jobs are
// submitted, in the order of the file where they are submitted at once. A job of g GPUs is
// a gang: on nodes of 8, up to 8 it is one task, beyond that whole-node tasks of 8 and one
// task of the rest. A line that is not as it should be, or is of a
// job that cannot be run, or leaves quotes open, is in [sim.Input.LeftOut] with its number, its job, its time and why: of
// the jobs, and of all that comes with them, changes, nodes, queues, tenants and tasks. A
// file that is none of the format is an error, and so is one with more than a million such
// lines, a line of more than a megabyte (of the native format 16, and an entry of a JSON array 64), or
// a megabyte of white space. What is left out of a cluster may leave none that a run can begin with: jobs of a queue that
// is left out are left out then, and where a pool or a parent is missing nothing is run.
//
//   - [Openb]: nodes and pods of Alibaba's cluster-trace-gpu-v2023 (FGD, ATC 2023).
//   - [ElasticFlow]: the jobs of the ElasticFlow clusters (ASPLOS 2023).
//   - [Philly]: jobs of Microsoft's Philly with their virtual clusters as queues.
//   - [Muri]: the cuts of Philly published with Muri (SIGCOMM 2022).
//   - [SWF]: the Standard Workload Format, version 2.2.
//
// Logs that do not say what their cluster is are read onto a [Site], and [Tenants] reads
// what quotas their tenants have from a small file:
//
//   - [PhillyLog]: cluster_job_log of Philly as it was published with "Analysis of
//     Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads" (ATC 2019), by the
//     README of github.com/msr-fiddle/philly-traces.
//   - [Helios]: cluster_log.csv of SenseTime's Helios (SC 2021), by the README of
//     github.com/S-Lab-System-Group/HeliosData.
//   - [Acme]: the job traces of Shanghai AI Lab's Acme (NSDI 2024), by the README of
//     github.com/InternLM/AcmeTrace.
//   - [PAI]: the job and task tables of Alibaba's cluster-trace-gpu-v2020 (NSDI 2022), by
//     its README at github.com/alibaba/clusterdata.
//   - [Slurm]: what sacct -P prints of any cluster.
//
// The samples in testdata are made by us; nothing of the traces is here.
//
// # What is made
//
// [Generate] makes jobs by a [Mix] and a seed: Poisson arrivals, of one rate or by
// the hour of the day, durations by a table of quantiles, and sizes by a table of
// counts. [FaultsOf] lets nodes and devices be lost, nodes cordoned, tasks fail, quotas
// and priorities change and users give up, in any input. All arithmetic is on integers, so a seed makes the same
// trace on every machine.
package trace
