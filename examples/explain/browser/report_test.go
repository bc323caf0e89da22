package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport opens the report of the example, as the tests of examples/explain keep
// it, and finds its figures.
func TestReport(t *testing.T) {
	everywhere(t, "../testdata/research.html", func(t *testing.T, page *seen) {
		if page.Headline != "24.75 of 26.75 GPUs in use, 5 workloads wait" {
			t.Errorf("the headline is %q", page.Headline)
		}
		if len(page.Charts) < 10 || !strings.HasPrefix(page.Charts[0], "language: uses 14.5, borrows 0.5, quota 14, fair share 15, wants 46.5, limit 20; borrows") {
			t.Errorf("the bars are %q", page.Charts)
		}
		// 8 GPUs on each of h1 to h3, 4 on a1 and 2 on a2.
		if page.Squares != 30 {
			t.Errorf("%d squares", page.Squares)
		}
		if page.Letters < 25 {
			t.Errorf("%d letters in the squares", page.Letters)
		}
		if len(page.Anchors) != 6 {
			t.Errorf("the sections are %q", page.Anchors)
		}
		for _, text := range []string{
			"vision/sweep-2 is evicted from h2 GPUs 4–6", "makes room for", "Reclaim by fair share.",
			"vision/serve-vision asks 10 × 1 GPU submitted 30 minutes ago", "What would help, one of these alone:",
			"cordoned", "nothing runs here", "Priority 50 goes before priority 10",
		} {
			if !strings.Contains(page.Text, text) {
				t.Errorf("%q is not there", text)
			}
		}
	})
}

// TestReportOfManyNodes opens the report of a cluster of a thousand nodes: it is
// no longer than a person scrolls.
func TestReportOfManyNodes(t *testing.T) {
	browser(t) // or there is no need to make the report
	page := filepath.Join(t.TempDir(), "many.html")
	state := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(state, manyNodes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "run", "./examples/explain", "report", state)
	command.Dir = "../../.."
	text, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
	everywhere(t, page, func(t *testing.T, page *seen) {
		if page.Height > 15_000 {
			t.Errorf("the page is %d high", page.Height)
		}
		if page.Squares == 0 || page.Squares > 100 {
			t.Errorf("%d squares", page.Squares)
		}
		for _, text := range []string{"1000 nodes", "n0900 to n0999", "A cell is a node."} {
			if !strings.Contains(page.Text, text) {
				t.Errorf("%q is not there", text)
			}
		}
	})
}

// manyNodes is a thousand nodes, three quarters full, and work that waits.
func manyNodes(t *testing.T) []byte {
	type object = map[string]any
	var nodes, queues, works []object
	for q := range 40 {
		queues = append(queues, object{"id": fmt.Sprintf("team-%02d", q), "resources": []object{{"resource": "gpu", "quota": 150_000}}})
	}
	work := func(gpus int, tasks ...object) {
		n := len(works)
		works = append(works, object{
			"id": fmt.Sprintf("job-%04d", n), "queue": fmt.Sprintf("team-%02d", n%40), "tasks": tasks,
			"podSets": []object{{"count": 1, "request": object{"gpu": object{"count": gpus}}}},
		})
	}
	for i := range 1000 {
		node := fmt.Sprintf("n%04d", i)
		devices := make([]object, 8)
		for d := range devices {
			devices[d] = object{"model": "H100"}
		}
		nodes = append(nodes, object{"id": node, "devices": devices, "cordoned": i%100 == 9})
		if i%100 != 9 {
			for d := range i % 4 {
				work(2, object{"node": node, "devices": []int{2 * d, 2*d + 1}})
			}
		}
	}
	for range 40 {
		work(9)
		work(8)
	}
	text, err := json.Marshal(object{"version": 1, "nodes": nodes, "queues": queues, "workloads": works})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
