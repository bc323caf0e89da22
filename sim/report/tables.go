package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/allotsched/allot/sim"
)

// seconds is a time with as many digits as it needs.
func seconds(t time.Duration) string {
	const nanosecond = 9
	text := sim.Seconds(t).Text(nanosecond)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// gpus is an amount of milli-GPU in GPUs.
func gpus(milli int64) string { return sim.Quotient(milli, 1000).Text(3) }

// errNothing is the error of whoever is to write nil.
var errNothing = errors.New("report: there is nothing to write")

// WriteJobs writes jobs.csv.
func WriteJobs(w io.Writer, r *sim.Result) error {
	if r == nil {
		return errNothing
	}
	out := csv.NewWriter(w)
	out.Write([]string{
		"job", "queue", "priority", "gpus", "tasks", "submit", "first_start", "end", "duration", "pending", "outcome",
		"starts", "evictions", "moves", "shrinks", "useful", "lost", "vain", "unsaved", "overhead", "waiting", "leaving", "slowdown", "rho",
	})
	for i := range r.Jobs {
		j := &r.Jobs[i]
		first, end, slowdown, rho := "", "", "", ""
		if j.Starts > 0 {
			first = seconds(j.FirstStart)
		}
		if j.Outcome != sim.Unfinished && j.Outcome != sim.NotSubmitted {
			end, slowdown, rho = seconds(j.End), j.Slowdown().String(), j.Fairness().String()
		}
		out.Write([]string{
			j.Workload.ID, j.Workload.Queue, fmt.Sprint(j.Workload.Priority), gpus(j.GPUs), fmt.Sprint(j.Tasks), seconds(j.Submit), first, end,
			seconds(j.Duration), seconds(j.Pending), j.Outcome.String(),
			fmt.Sprint(j.Starts), fmt.Sprint(j.Evictions), fmt.Sprint(j.Moves), fmt.Sprint(j.Shrinks),
			j.Useful.GPUSeconds().String(), j.Lost.GPUSeconds().String(), j.Vain.GPUSeconds().String(), j.Unsaved.GPUSeconds().String(), j.Overhead.GPUSeconds().String(),
			j.Waiting.GPUSeconds().String(), j.Leaving.GPUSeconds().String(), slowdown, rho,
		})
	}
	out.Flush()
	return out.Error()
}

// WriteLeftOut writes left-out.csv.
func WriteLeftOut(w io.Writer, r *sim.Result) error {
	if r == nil {
		return errNothing
	}
	out := csv.NewWriter(w)
	out.Write([]string{"line", "job", "submit", "kind", "why"})
	for i := range r.LeftOut {
		l := &r.LeftOut[i]
		line, submit := "", ""
		if l.Line > 0 {
			line = fmt.Sprint(l.Line)
		}
		if l.Timed {
			submit = seconds(l.Submit)
		}
		out.Write([]string{line, l.Job, submit, l.Kind, l.Why})
	}
	out.Flush()
	return out.Error()
}

// WriteSeries writes series.csv.
func WriteSeries(w io.Writer, r *sim.Result) error {
	if r == nil {
		return errNothing
	}
	head := []string{"at", "usable", "allocated", "used"}
	for _, c := range sim.Causes() {
		head = append(head, "idle_"+c.String())
	}
	head = append(head, "reserved", "running", "queued")
	for i := range r.Queues {
		head = append(head, "held_"+r.Queues[i].ID, "share_"+r.Queues[i].ID)
	}
	out := csv.NewWriter(w)
	out.Write(head)
	for i := range r.Rows {
		row := &r.Rows[i]
		line := []string{seconds(row.At), gpus(row.Usable), gpus(row.Allocated), gpus(row.Used)}
		for _, idle := range row.Idle {
			line = append(line, gpus(idle))
		}
		line = append(line, gpus(row.Reserved), fmt.Sprint(row.Running), fmt.Sprint(row.Queued))
		for _, q := range row.Queues {
			share := ""
			if q.Divided {
				share = gpus(q.FairShare)
			}
			line = append(line, gpus(q.Held), share)
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}
