package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// pageOf makes the page of runs and opens it in a wide window.
func pageOf(t *testing.T, ctx context.Context, args ...string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "runs.html")
	if text, err := exec.Command(path, append([]string{"replay", "-page", page}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := open(ctx, "file://"+page, 1280, "light"); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, `document.querySelectorAll("svg").length > 3`)
}

// cardOf finds the card with a title.
const cardOf = `const card = title => [...document.querySelectorAll("section")].find(s => s.querySelector("h2").textContent === title); `

// TestReplayPageOfOneJob: what there is of a run of one job is seen: its wait is a curve from
// nobody to all, and the time that is drawn first is one of which the series tells something.
func TestReplayPageOfOneJob(t *testing.T) {
	ctx := browser(t)
	pageOf(t, ctx, "-jobs", "1", "-nodes", "1", "-policies", "fifo,runai")
	if got := evaluate[string](t, ctx, `document.getElementById("time").value`); got != "0" {
		t.Error("of a run of one job the time in which jobs came is drawn, which is an instant")
	}
	for _, title := range []string{"Utilisation", "Waits by size", "Waits, schedulers side by side"} {
		if n := evaluate[int64](t, ctx, `(() => { `+cardOf+`return [...card("`+title+`").querySelectorAll("path.curve")].filter(c => c.getTotalLength() < 100).length })()`); n > 0 {
			t.Errorf("%s: %d curves are not seen", title, n)
		}
	}
}

// TestReplayPageTellsSchedulersApart: no two schedulers side by side are drawn alike, and what
// was left out is told.
func TestReplayPageTellsSchedulersApart(t *testing.T) {
	ctx := browser(t)
	log := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(log, []byte("job_id,submission_time,duration,num_gpu\na,0,100,8\nb,10,100,8\nc,20,soon,8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pageOf(t, ctx, "-policies", "all", "-nodes", "1", "-leave-out", log)
	if n := evaluate[int64](t, ctx, `(() => { `+cardOf+`const c = [...card("Waits, schedulers side by side").querySelectorAll("path.curve")]; return c.length - new Set(c.map(c => c.getAttribute("stroke") + c.getAttribute("stroke-dasharray"))).size })()`); n > 0 {
		t.Errorf("%d schedulers are drawn as another is", n)
	}
	if at := evaluate[string](t, ctx, `(() => { `+cardOf+`return [...card("Places by node").querySelectorAll("text")].map(t => t.textContent).join(" ") })()`); !strings.HasSuffix(at, " 0 s 30 s 60 s 1.5 min 2 min 2.5 min 3 min") {
		t.Errorf("the times of a run of 200 s are %s", at)
	}
	if text := evaluate[string](t, ctx, `document.body.innerText`); strings.Count(text, "1 duration") != 2 {
		t.Error("it is not told twice, of all and of the run, that a row was left out")
	}
}

// TestReplayPageCutsNoInterval: an interval that is wider than its frame does not look as if it
// ended there.
func TestReplayPageCutsNoInterval(t *testing.T) {
	ctx := browser(t)
	pageOf(t, ctx, "-jobs", "200", "-nodes", "3", "-loads", "300", "-seeds", "1-2", "-policies", "fifo,runai")
	paths := evaluate[string](t, ctx, `(() => { `+cardOf+`return [...card("Mean wait").querySelectorAll("g")].map(g => { const [, low, high] = g.querySelector("title").textContent.match(/\((\S+) .* to (\S+) .*\)/); return (low < 0) + " " + (g.querySelector("path").getAttribute("d").match(/v8/g) || []).length }).join(", ") })()`)
	if paths != "true 0, true 1" { // both go on below 0, and that of fifo beyond twice the mean
		t.Errorf("below 0, and ends that are marked: %s", paths)
	}
}
