//go:build linux

package web

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/allotsched/allot/examples/allot/internal/desk"
)

// largest is a state so near to the bounds that changes still fit, in the exact form: most of it runs,
// and the rest waits or starts by turns.
func largest(t *testing.T, path string, seed int) {
	var b strings.Builder
	list := func(n int, one func(i int)) {
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			one(i)
		}
	}
	const (
		devices, each            = desk.MaxDevices / desk.MaxNodes, 2
		spare                    = 256
		nodes, queues, workloads = desk.MaxNodes - spare, desk.MaxQueues - spare, desk.MaxWorkloads - spare
	)
	b.WriteString(`{"version":1,"nodes":[`)
	list(nodes, func(i int) {
		fmt.Fprintf(&b, `{"id":"n%d","devices":[%s]}`, i, strings.TrimSuffix(strings.Repeat("{},", devices), ","))
	})
	b.WriteString(`],"queues":[`)
	list(queues, func(i int) {
		fmt.Fprintf(&b, `{"id":"q%d","resources":[{"resource":"gpu","quota":%d}]}`, i, 1000*(3+i%7))
	})
	b.WriteString(`],"workloads":[`)
	list(workloads, func(i int) {
		fmt.Fprintf(&b, `{"id":"w%d","queue":"q%d","priority":%d,"podSets":[{"count":%d,"request":{"gpu":{"count":1}}}]`, i, (i*7+seed)%queues, i%100, each)
		if i%8 != 0 {
			fmt.Fprintf(&b, `,"tasks":[{"node":"n%d","devices":[%d]},{"index":1,"node":"n%d","devices":[%d]}]`,
				i*each/devices, i*each%devices, i*each/devices, i*each%devices+1)
		}
		b.WriteByte('}')
	})
	b.WriteString(`]}`)
	write(t, path, b.String())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMemory: with three versions of the largest states, all their pages, the largest answers two at
// once, and a file that is hostile to read beside them, the program stays below [Memory].
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it solves the largest states")
	}
	dir, program := t.TempDir(), filepath.Join(t.TempDir(), "allot")
	for v := range keptVersions {
		largest(t, filepath.Join(dir, fmt.Sprintf("v%d.json", v)), v)
	}
	keys := &strings.Builder{}
	for i := range 1_000_000 { // just fewer than are refused at once
		fmt.Fprintf(keys, "k%d: v,", i)
	}
	write(t, filepath.Join(dir, "hostile.yaml"), "nodes: [{"+keys.String()+"}]")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil { // never with the race detector
		t.Fatalf("%v\n%s", err, out)
	}
	home, kill := serving(t, program, dir)
	for _, two := range [][2]string{
		{"/?v=v0.json", "/topology?v=v0.json"},
		{"/?v=v1.json", "/topology?v=v1.json"},
		{"/?v=v2.json", "/topology?v=v2.json"},
		{"/whatif?all=yes&v=v0.json&edits=" + url.QueryEscape("cordon n1\npriority w3=99\nadd 200xn1"), "/whatif?all=yes&v=v1.json&edits=add+256xn1"},
		{"/whatif?all=yes&v=v2.json&edits=lose+n1", "/whatif?all=yes&v=v2.json&edits=end+w1"},
		{"/workload?v=v0.json&id=w8&help=yes", "/workload?v=v2.json&id=w16&help=yes"},
		{"/compare?a=v0.json&b=v1.json", "/compare?a=v1.json&b=v2.json"},
		{"/?v=hostile.yaml", "/whatif?v=v2.json&edits=cordon+n7"},
	} {
		var both sync.WaitGroup
		for _, address := range two {
			both.Go(func() {
				code, body := fetch(t, home+address)
				t.Log(address[:min(len(address), 40)], code, len(body))
				if code == http.StatusServiceUnavailable {
					return // too slow a machine to say
				}
				if refused := code != 200 || strings.Contains(body, `"card problem"`); refused != strings.Contains(address, "hostile") {
					t.Errorf("%s: %d\n%s", address, code, body[max(0, len(body)-3000):])
				}
			})
		}
		both.Wait()
	}
	peak := kill()
	t.Logf("at most %d MiB", peak>>20)
	if int64(peak) > Memory {
		t.Errorf("takes %d MiB", peak>>20)
	}
}

// serving starts the program on a folder. What it returns ends it and says how many bytes of memory it
// has had at most.
func serving(t *testing.T, program, folder string) (home string, end func() int) {
	t.Helper()
	command := exec.Command(program, "serve", "-listen", "127.0.0.1:0", folder)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // it may have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/"), func() int {
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait() // it was interrupted, and says so
		return int(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	}
}

// fetch asks for a page.
func fetch(t *testing.T, address string) (code int, body string) {
	response, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}
