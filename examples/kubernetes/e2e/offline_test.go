package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/kubernetes/internal/controlplane"
)

// What people see with kubectl alone: why a pod waits, in kubectl describe; and offline, in a
// dump of the cluster that the program allot imports, what it would decide and what it could
// not take over.
func TestKubectl(t *testing.T) {
	w := newWorld(t)
	bin, err := controlplane.Build(w.ctx, t.Logf, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) string {
		c := exec.Command(filepath.Join(bin, "kubectl"), args...)
		c.Env = append(os.Environ(), "KUBECONFIG="+theWorld.plane.Kubeconfig)
		return output(t, c)
	}
	w.node("n1", 8, rack, "r1")
	w.node("n2", 8, rack, "r2")
	w.pool("runai")
	w.queue("a", 16)
	w.scheduler()
	w.gang("train", "a", 2, 4)
	w.runs(members("train", 2)...)
	w.group("wide", "a", 2, within(rack))
	for _, name := range members("wide", 2) {
		w.pod(name, "a", 8, memberOf("wide"))
	}
	w.waits("wide-0", rack)
	for _, what := range []string{"pod/wide-0", "podgroup/wide"} {
		w.eventually("the reason in kubectl describe "+what, func() string {
			if text := kubectl("describe", what); !strings.Contains(text, "no domain takes all 2 tasks") {
				return text
			}
			return ""
		})
	}
	dump := filepath.Join(t.TempDir(), "dump.json")
	text := kubectl("get", "nodes,pods,podgroups,queues.allotsched.github.io,pools.allotsched.github.io", "-A", "-o", "json")
	if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	allot := filepath.Join(t.TempDir(), "allot")
	build := exec.Command("go", "build", "-o", allot, ".")
	build.Dir = filepath.Join("..", "..", "allot")
	output(t, build)
	imported := exec.Command(allot, "import", dump)
	var notes bytes.Buffer
	imported.Stderr = &notes
	state, err := imported.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, notes.String())
	}
	if !strings.Contains(notes.String(), "2 nodes, 1 queue, 2 ") {
		t.Errorf("imported: %s", notes.String())
	}
	file := filepath.Join(t.TempDir(), "state.yaml")
	if err := os.WriteFile(file, state, 0o600); err != nil {
		t.Fatal(err)
	}
	if text := output(t, exec.Command(allot, "why", "-f", file, "default/wide")); !strings.Contains(text, rack) {
		t.Errorf("offline it waits otherwise: %s", text)
	}
	if text := output(t, exec.Command(allot, "plan", "-f", file)); strings.Contains(text, "default/train starts") {
		t.Errorf("what runs is started again: %s", text)
	}
}

// output runs a program and is what it says.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, text)
	}
	return string(text)
}
