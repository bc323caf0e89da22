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
		}
	}
}
