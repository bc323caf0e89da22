// Controller shows how a host lives with Allot: a control loop between users,
// allot.Solve and a cluster on which requests come late, come twice, fail or get
// lost, and which may be killed at any point. It is the code of README.md, the
// guide to embedding. Run, it tells a story: some minutes of a small cluster in
// which much goes wrong; controller -h tells more.
//
// # The contract
//
// A round of the loop reads the record, observes the cluster, starts and stops
// what is recorded and not seen, merges what was seen and asked for into the
// State, solves, begins the plan, and writes the record ([controller.round]).
// For that the library asks the host:
//
//  1. Write before you act: act by what you have read. The record is the State
//     that allot.Begin returned, with the numbers of all attempts and how far the
//     users' requests are in it, written as one ([record]). What is written and
//     not done, the next round does; what is done and not written is done twice.
//  2. Act by the record, not by the plan. Whatever should run and is not seen
//     to run is started, whatever should not is stopped, in every round, until it
//     is seen ([controller.carryOut]). A plan is spent once it has begun.
//  3. Give every run of a task a number that is never given again. A request for
//     a number may be sent ten times and is done once; to stop a number that is
//     not known yet means that it never starts ([cluster.stop]).
//  4. Running means that the task holds its place: from when it is written, long
//     before it runs, until the cluster says that this run is over. That nobody
//     answers says nothing. What takes too long is made Terminating, stopped, and
//     holds its place meanwhile ([record.merge]).
//  5. Lost says that nothing runs there any more, for sure; until then the node
//     is Cordoned. What Solve displaces is still stopped, and what would start in
//     its stead waits until that run is over ([record.mustWait]).
//  6. Claims, Since, PartialSince and Retries are Begin's: keep them. A host that
//     lost its claims would evict nobody again, but others might take the places.
//  7. One writes at a time: the store refuses a record that was not made from the
//     one that is there, and Begin a plan of another Revision. Whoever is refused
//     begins a round anew.
//  8. Check what users ask for before it is part of the State; one malformed
//     workload would stop everybody. Now never goes back.
//  9. Solve once for all that has happened since the last time, and now and then
//     when nothing has: protections and graces end with time.
//
// It asks twice, which the library does not ask for: every plan is put to
// verify.Plan before it begins, and one that is not lawful never does
// ([controller.decide]).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It fails if something is not as it should be in the end.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "the `number` that the story is drawn from")
	seconds := flags.Int("seconds", 300, "how many `seconds` things happen and go wrong")
	kills := flags.Int("kills", 10, "the controller is killed in so many `percent` of its rounds")
	verify := flags.Bool("verify", true, "have verify.Plan check every plan before it is begun")
	err := program.Parse(flags, args, stdout, usage, "")
	if errors.Is(err, flag.ErrHelp) {
		return program.OK
	}
	if err == nil && flags.NArg() > 0 {
		err = errors.New("takes no arguments but flags")
	}
	const longest = 1_000_000 // each second is walked through
	switch {
	case err != nil:
	case *seconds < 0 || *seconds > longest:
		err = fmt.Errorf("-seconds must be from 0 to %d, is %d", longest, *seconds)
	case *kills < 0 || *kills > 100:
		err = fmt.Errorf("-kills must be from 0 to 100, is %d", *kills)
	}
	if err != nil {
		fmt.Fprintf(stderr, "controller: %v; -h tells all\n", err)
		return program.Usage
	}
	return tell(*seed, *seconds, *kills, *verify, stdout)
}

const usage = `usage: controller [flags]

Tells the story of a cluster of 16 GPUs, its users and a controller that asks
Allot what to do. Nodes fall silent, requests to the cluster come late, come
twice, fail or get lost, and the controller is killed now and then. In the end
nothing goes wrong any more, and it is seen whether everything is as it should
be. One seed, one story. Every plan is put to verify.Plan before it is begun;
one that is not lawful is not begun, and the program fails.

`

// tell is the story.
func tell(seed uint64, seconds, kills int, verify bool, out io.Writer) int {
	policy := allot.RunAI()
	policy.PreemptedStatus, policy.PreemptedExitCode = "PREEMPTED", 143
	policy.CheckpointOnEviction = true
	w := newWorld(seed, policy, faults{lost: 10, twice: 10, fails: 5, unanswered: 5, delay: 5, lag: 3, slow: 20}, out)
	w.kills, w.verify = kills, verify
	for range seconds {
		w.happen()
		w.step()
	}
	const patience = 3000 // seconds
	atRest := w.calm(patience)
	problems := append(w.cluster.broken, w.unsound()...)
	if !atRest {
		problems = append(problems, "it comes to no rest")
	}
	for _, problem := range problems {
		w.print("wrong: %s", problem)
	}
	if len(problems) > 0 {
		return program.Failed
	}
	w.print("at rest: %s", w.summary())
	return program.OK
}

// summary counts.
func (w *world) summary() string {
	r, err := w.store.Read()
	if err != nil {
		return err.Error()
	}
	runs, waits := 0, 0
	for _, k := range r.State.Workloads {
		if len(k.Tasks) > 0 {
			runs++
		} else {
			waits++
		}
	}
	verified := "not verified"
	if w.verify {
		verified = "each of them lawful"
	}
	return fmt.Sprintf("%d workloads run, %d wait, %d are over; %d plans, %s; %d attempts of tasks, none of them twice; the controller was killed %d times",
		runs, waits, len(w.submitted)-runs-waits, w.plans, verified, r.LastNumber, w.deaths)
}
