package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestReport opens the report of a small cluster, as the tests of the report keep it,
// and finds its figures.
func TestReport(t *testing.T) {
	everywhere(t, "../internal/report/testdata/research.html", func(t *testing.T, page *seen) {
		if !strings.HasPrefix(page.Headline, "Now: 20.75 of 26.75 GPUs in use, 8 workloads without a placeAfter this plan: 24.75 in use; 5 start, 5 wait, 2 are evicted") {
			t.Errorf("the headline is %q", page.Headline)
		}
		if len(page.Charts) < 10 || !strings.HasPrefix(page.Charts[0], "language: uses 14.5, borrows 0.5, quota 14, fair share 14.5, wants 14.5, limit 20; borrows") {
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
			"makes room for", "Reclaim by fair share.",
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
	state := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(state, manyNodes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	page := made(t, "many.html", "report", "-helps", "0", state)
	everywhere(t, page, func(t *testing.T, page *seen) {
		if page.Height > 15_000 {
			t.Errorf("the page is %d high", page.Height)
		}
		if page.Squares == 0 || page.Squares > 100 {
			t.Errorf("%d squares", page.Squares)
		}
		for _, text := range []string{"1000 nodes", "The 1000 nodes of 8 × H100 as a table", "A cell is a node;"} {
			if !strings.Contains(page.Text, text) {
				t.Errorf("%q is not there", text)
			}
		}
	})
}

// TestSearchAndSort uses the script of the report of a thousand nodes: what is searched
// for is shown and nothing else, and a click sorts.
func TestSearchAndSort(t *testing.T) {
	ctx := browser(t)
	state := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(state, manyNodes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	page := made(t, "many.html", "report", "-helps", "0", state)
	if err := open(ctx, "file://"+page, 1280, "light"); err != nil {
		t.Fatal(err)
	}
	const shown = `[...document.querySelectorAll("tr.find")].filter(e => e.checkVisibility()).map(e => e.cells[0].textContent.trim())`
	write := func(text string) {
		evaluate[bool](t, ctx, `(() => { const f = document.querySelector("#search input"); f.value = `+strconv.Quote(text)+`; f.dispatchEvent(new Event("input")); return true; })()`)
	}
	write("n0123")
	until(t, ctx, `document.querySelector("#search output").textContent === "Found: 1 node"`)
	if rows := evaluate[[]string](t, ctx, shown); len(rows) != 1 || rows[0] != "n0123" {
		t.Errorf("n0123 finds %q", rows)
	}
	picture(t, ctx, "search.html", "found")
	write("no such name")
	until(t, ctx, `document.querySelector("#search output").textContent.startsWith("Nothing")`)
	write("team-05 cordoned")
	until(t, ctx, `document.querySelector("#search output").textContent.startsWith("Nothing")`)
	write("")
	until(t, ctx, `document.querySelector("#search output").textContent === ""`)
	if rows := evaluate[[]string](t, ctx, shown); len(rows) != 0 {
		t.Errorf("%d rows stay unfolded", len(rows))
	}
	evaluate[bool](t, ctx, `(() => { for (const d of document.querySelectorAll("details")) if (d.querySelector("table.rows")) d.open = true; return true; })()`)
	click := `(() => { [...document.querySelectorAll("table.rows th button")].find(b => b.textContent === "free").click(); return document.querySelector("table.rows tbody tr").cells[3].textContent; })()`
	if least := evaluate[string](t, ctx, click); least != "0" {
		t.Errorf("the least that is free is %s", least)
	}
	if most := evaluate[string](t, ctx, click); most != "8" {
		t.Errorf("the most that is free is %s", most)
	}
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
