package input

import (
	"strings"
	"testing"
	"time"
)

// A scenario is read as far as it asks nothing, and is told from a document.
func TestScenario(t *testing.T) {
	for text, want := range map[string]bool{ // each by itself: order cannot matter
		"nodes n0 gpu=4\n": true, "# a title\n\npolicy preset=runai\n": true, "reset\n": true,
		"nodes:\n- {id: a}\n": false, "nodes : []\n": false, "": false, "{\"version\":1}": false, "policy: runai": false, "now: 2026-01-01T00:00:00Z": false,
	} {
		if got := IsScenario([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	d, err := State([]File{{"a.txt", []byte("nodes n0..n3 gpu=4\nsubmit a gpu=1\nsolve\n----\nstart a n0[0]\n\nnodes n9 gpu=4\n")}})
	if err != nil || len(d.State.Nodes) != 4 || len(d.State.Workloads) != 1 {
		t.Fatalf("%v %+v", err, d)
	}
	if _, err := State([]File{{"a.txt", []byte("nodes n0 gpu=4\nsubmit a gpus=1\n")}}); err == nil || !strings.HasPrefix(err.Error(), "a.txt:2: ") {
		t.Errorf("%v", err)
	}
}

// A few bytes that stand for millions of things are refused at once.
func TestScenarioBombs(t *testing.T) {
	aliases := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		aliases += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	for _, text := range []string{
		"nodes n0..n1048575 gpu=1000\n", "nodes n0..n99999 gpu=99999999999999999999\n", "nodes n0..n99 | nodes m0..m999 devices=100000xH100:1\n",
		"submit q/w0..w99999999999999999999 gpu=1\n", aliases + "nodes: *j\n", "nodes:\n- {id: a, devices: 100000000}\n",
	} {
		begin := time.Now()
		_, err := State([]File{{"bomb", []byte(text)}})
		if err == nil {
			t.Errorf("%.60q is taken", text)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%.60q takes %v", text, took)
		}
	}
}
