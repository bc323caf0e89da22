package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// What is served to people and programs: plan, explanation, state and metrics.
func TestPages(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 8)
	w.pool("runai")
	w.queue("a", 8)
	pages, metrics := free(t), free(t)
	w.scheduler("-pages", pages, "-metrics", metrics, "-leader-election", "-namespace", "default")
	w.pod("one", "a", 8)
	w.runs("one")
	w.pod("two", "a", 4)
	w.pod("odd", "nowhere", 4)
	w.waits("two", "free")
	w.waits("odd", "nowhere")
	for _, ask := range []struct{ address, want string }{
		{pages + "/plan", "default/pods/two"},
		{pages + "/plan?format=json", `"pending"`},
		{pages + "/explain?pod=default/two", "default/pods/two"},
		{pages + "/explain?workload=default/pods/two", "default/pods/two"},
		{pages + "/explain?pod=default/odd", "refused"},
		{pages + "/explain?queue=a", "quota"},
		{pages + "/plan?format=html", `href="/explain?format=html&amp;workload=default%2Fpods%2Ftwo"`},
		{pages + "/explain?pod=default/two&format=html", "<h1>default/pods/two</h1>"},
		{pages + "/explain?workload=default/pods/two&format=json", `"status":"waits"`},
		{pages + "/explain?pod=default/nobody", "nobody"},
		{metrics + "/metrics", `allot_queue_amount{figure="used",queue="a",resource="gpu"} 8000`},
		{metrics + "/metrics", "allot_decision_seconds_count"},
		{metrics + "/metrics", `allot_waiting_workloads{reason="Refused"} 1`},
	} {
		w.eventually(ask.address, func() string {
			if got := read(t, ask.address); !strings.Contains(got, ask.want) {
				return fmt.Sprintf("no %q in %.500s", ask.want, got)
			}
			return ""
		})
	}
	var s allot.State
	if err := s.UnmarshalJSON([]byte(read(t, pages+"/state"))); err != nil || len(s.Workloads) != 2 {
		t.Errorf("%d workloads, error %v", len(s.Workloads), err)
	}
}

// free is an address of loopback that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// read is what is served at an address, whatever its status.
func read(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get("http://" + address)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
