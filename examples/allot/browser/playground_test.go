package browser

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// playground builds the playground once.
var playground = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "playground")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "run", "./playground")
	command.Dir = ".."
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go run ./playground: %w", err)
	}
	path := filepath.Join(folder, "playground.html")
	return path, os.WriteFile(path, text, 0o644)
})

// TestPlayground asks in every view, opens a link, and gives it what never ends and what
// takes all memory. It is built where there is a browser, which takes a minute the first
// time.
func TestPlayground(t *testing.T) {
	ctx := browser(t)
	path, err := playground()
	if err != nil {
		t.Fatal(err)
	}
	address := "file://" + path
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			if err := open(ctx, address, width, scheme); err != nil {
				t.Fatal(err)
			}
			settled := `!document.documentElement.dataset.busy && document.getElementById("state").textContent.includes(" ms,")`
			until(t, ctx, settled)
			for view, want := range map[string]string{ // each by itself: order cannot matter
				"plan": "pretrain", "why": "pretrain", "shares": "robotics", "what if": "a2", "report": "", "topology": "",
			} {
				evaluate[bool](t, ctx, `(() => { document.getElementById("edits").value = "uncordon a2"; document.querySelector('[data-view="`+view+`"]').click(); return true; })()`)
				until(t, ctx, settled)
				if text := evaluate[string](t, ctx, `document.getElementById("problem").textContent + document.getElementById("answer").textContent`); !strings.Contains(text, want) {
					t.Errorf("%s: without %q: %.400s", view, want, text)
				}
				if frames := evaluate[int](t, ctx, `document.querySelectorAll("#out iframe").length`); (frames == 1) != (want == "") {
					t.Errorf("%s: %d frames", view, frames)
				}
				if want == "" && !drawn(t, ctx, "#out iframe") {
					t.Errorf("%s, %d-%s: the frame stays empty", view, width, scheme)
				}
				picture(t, ctx, "playground.html", fmt.Sprintf("%d-%s-%s", width, scheme, strings.ReplaceAll(view, " ", "")))
			}
			if wide := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d wide in a window of %d", wide, width)
			}
		}
	}
	settled := `!document.documentElement.dataset.busy && document.getElementById("state").textContent.includes(" ms,")`
	write := func(text string) {
		evaluate[bool](t, ctx, `(() => { const e = document.getElementById("text"); e.value = `+strconv.Quote(text)+`; e.dispatchEvent(new Event("input")); document.documentElement.dataset.busy = "yes"; return true; })()`)
		until(t, ctx, settled)
	}
	problem := func() string { return evaluate[string](t, ctx, `document.getElementById("problem").textContent`) }
	evaluate[bool](t, ctx, `(() => { document.querySelector('[data-view="plan"]').click(); return true; })()`)
	until(t, ctx, settled)
	write("nodes n0 gpus=1\n")
	if text := problem(); !strings.Contains(text, "line:1") {
		t.Errorf("a typing error: %q", text)
	}
	// More than the memory has, or the time: the page says so, and lives.
	write("nodes n0..n1048575 gpu=4000\n")
	if text := problem(); text == "" {
		t.Error("nothing is said of what is too large")
	}
	write("nodes n0 gpu=4\nsubmit <b>x gpu=1\n")
	if text := evaluate[string](t, ctx, `document.getElementById("answer").textContent`); !strings.Contains(text, "<b>x") {
		t.Errorf("%q, with %q", text, problem())
	}
	// What a link holds comes back, and nonsense is told.
	evaluate[bool](t, ctx, `(() => { document.getElementById("link").click(); return true; })()`)
	until(t, ctx, `location.hash.length > 20`)
	link := evaluate[string](t, ctx, `location.href`)
	if err := open(ctx, "about:blank", 1280, "light"); err != nil {
		t.Fatal(err)
	}
	if err := open(ctx, link, 1280, "light"); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, settled)
	if text := evaluate[string](t, ctx, `document.getElementById("text").value`); text != "nodes n0 gpu=4\nsubmit <b>x gpu=1\n" {
		t.Errorf("the link opens %q", text)
	}
	evaluate[bool](t, ctx, `(() => { document.documentElement.dataset.busy = "yes"; location.hash = "#nonsense!"; return true; })()`)
	until(t, ctx, settled)
	if text := problem(); !strings.Contains(text, "The link cannot be opened") {
		t.Errorf("a broken link: %q", text)
	}
}

// drawn waits until something is to be seen in an element, whatever it holds.
func drawn(t *testing.T, ctx context.Context, selector string) bool {
	t.Helper()
	at := evaluate[[]float64](t, ctx, `(() => { const r = document.querySelector("`+selector+`").getBoundingClientRect(); return [r.left, r.top + scrollY, r.right, r.bottom + scrollY]; })()`)
	for range 50 {
		text, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		colours := make(map[color.Color]bool)
		for y := int(at[1]); y < int(at[3]); y++ {
			for x := int(at[0]); x < int(at[2]); x++ {
				colours[picture.At(x, y)] = true
			}
		}
		if len(colours) > 20 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}
