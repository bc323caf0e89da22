package browser

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReplayPage opens the page of runs of a trace: what it draws is there, and as wide as
// the window.
func TestReplayPage(t *testing.T) {
	ctx := browser(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "runs.html")
	if text, err := exec.Command(path, "replay", "-jobs", "200", "-nodes", "3", "-loads", "300", "-policies", "fifo,runai", "-page", page).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			if err := open(ctx, "file://"+page, width, scheme); err != nil {
				t.Fatal(err)
			}
			until(t, ctx, `document.querySelectorAll("svg").length > 3 && document.body.innerText.includes("runai") && document.querySelector("h1").textContent.startsWith("200 jobs like those of philly")`)
			if wide := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d wide in a window of %d", wide, width)
			}
			picture(t, ctx, "runs.html", fmt.Sprintf("%d-%s", width, scheme))
			// Each choice of the time draws another picture, and none beyond its frame.
			var drawn []string
			for _, choice := range []string{"0", "1"} {
				evaluate[bool](t, ctx, `(() => { const time = document.getElementById("time"); time.value = "`+choice+`"; time.onchange(); return true })()`)
				drawn = append(drawn, evaluate[string](t, ctx, `document.querySelector("#one svg").outerHTML`))
				if beyond := evaluate[int64](t, ctx, `[...document.querySelectorAll("#one svg rect, #one svg path")].filter(e => e.getBoundingClientRect().right > e.closest("svg").getBoundingClientRect().right + 1).length`); beyond != 0 {
					t.Errorf("%d marks are drawn beyond their frame", beyond)
				}
			}
			if drawn[0] == drawn[1] {
				t.Error("while jobs came looks as the whole run does")
			}
			picture(t, ctx, "runs.html", fmt.Sprintf("%d-%s-while-jobs-came", width, scheme))
		}
	}
}
