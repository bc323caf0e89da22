package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A replica is one of several schedulers of one name, of which one leads.
type replica struct {
	*process
	pages string
}

func (w *world) replica() *replica {
	w.Helper()
	address := free(w.T)
	// So few requests per second have it end in the midst of what it does.
	return &replica{w.scheduler("-leader-election", "-namespace", "default", "-pages", address, "-qps", "15", "-burst", "3"), address}
}

// leads says whether a replica is the one that decides.
func (r *replica) leads() bool {
	client := http.Client{Timeout: 2 * time.Second}
	answer, err := client.Get("http://" + r.pages + "/state")
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // nothing was written
	return answer.StatusCode == http.StatusOK
}

// Of two replicas the leader ends, by kill -9, or when it is asked to, or is paused until the
// other leads, in turns: the other goes on with what was begun, and nothing is bound twice, lost
// or left half bound.
func TestFailover(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.node(fmt.Sprintf("n%02d", i), 8)
	}
	w.pool("runai")
	w.queue("a", 80)
	all := []*replica{w.replica(), w.replica()}
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2)) // its moments are random anyhow
	c := &crowd{world: w, works: "20s"}                               // longer than a lease
	for round := range amount("ALLOT_FAILOVERS", 3) {
		leader := -1
		w.eventually("a leader", func() string {
			leading := 0
			for i, r := range all {
				if r.leads() {
					leading++
					leader = i
				}
			}
			if leading != 1 {
				return fmt.Sprintf("%d replicas lead", leading)
			}
			return ""
		})
		for range 4 {
			if err := c.add(w.ctx, chance); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(chance.IntN(400)) * time.Millisecond)
		bound, half, whole := w.bindsSeen(), len(w.halves(0)), 0
		for _, g := range c.gangs {
			whole += len(g.pods)
		}
		began := time.Now()
		switch round % 3 {
		case 0:
			all[leader].kill()
		case 1:
			all[leader].end()
		default:
			w.signal(all[leader].process, syscall.SIGSTOP)
		}
		w.eventually("the other to lead", func() string {
			if all[1-leader].leads() {
				return ""
			}
			return "it does not"
		})
		t.Logf("the other leads %v after the end of the leader, which had bound %d of %d pods in %d gangs, %d of them in part",
			time.Since(began).Round(100*time.Millisecond), bound, whole, len(c.gangs), half)
		if round%3 == 2 { // it finds out that it leads no more, and ends
			w.signal(all[leader].process, syscall.SIGCONT)
			w.ends(all[leader].process)
		}
		w.eventually("what was begun to be completed", func() string {
			return strings.Join(w.halves(0), " ")
		})
		all[leader] = w.replica()
	}
	c.finish(2 * time.Minute)
	for _, r := range all {
		r.end() // so that others need not wait for its lease
	}
	for _, g := range w.halves(20 * time.Second) {
		t.Errorf("%s is bound in part", g)
	}
	if longest := w.longestHalf(); longest > 30*time.Second {
		t.Errorf("a gang was bound in part for %v", longest)
	}
}

func (w *world) signal(p *process, s os.Signal) {
	w.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
}

// ends waits until a scheduler ends by itself.
func (w *world) ends(p *process) {
	w.Helper()
	ended := make(chan struct{})
	go func() {
		_ = p.command.Wait() // how it ended is in its log
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		w.Fatal("a scheduler that does not lead any more goes on")
	}
}

// end asks a scheduler to end and waits until it has.
func (p *process) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.command.Wait()                          // it was asked to
}
