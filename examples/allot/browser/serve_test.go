package browser

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// served is the address of a server on a folder.
func served(t *testing.T, folder string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, path, "serve", "-listen", "127.0.0.1:0", folder)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was killed, which is its error
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

// TestServe opens the pages of the server, with what they should say.
func TestServe(t *testing.T) {
	browser(t) // or there is no need to start the server
	folder := t.TempDir()
	text, err := os.ReadFile("../internal/report/testdata/research.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v1.json", "v2.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := served(t, folder)
	for _, test := range []struct{ path, want string }{
		{"/", "What waits, and why"},
		{"/workload?id=teleop", "robotics/teleop"},
		{"/whatif?edits=uncordon+a2", "a2"},
		{"/versions", "v1.json"},
	} {
		ctx := browser(t)
		for _, width := range []int64{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", test.path[1:], width, scheme), func(t *testing.T) {
					if page := view(t, ctx, at+test.path, width, scheme); !strings.Contains(page.Text, test.want) {
						t.Errorf("%q is not there", test.want)
					}
				})
			}
		}
	}
}

// TestTopology opens the picture of a thousand nodes as a page: it fits, and a click on a
// box shows it with every GPU.
func TestTopology(t *testing.T) {
	ctx := browser(t)
	state := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(state, manyNodes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	page := made(t, "topology.html", "topology", "-html", state)
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			if err := open(ctx, "file://"+page, width, scheme); err != nil {
				t.Fatal(err)
			}
			picture(t, ctx, "topology.html", fmt.Sprintf("%d-%s", width, scheme))
			const shown = `[...document.querySelectorAll(".sheet")].filter(e => e.checkVisibility()).length`
			if n := evaluate[int](t, ctx, shown); n != 0 {
				t.Errorf("%d boxes are shown at first", n)
			}
			evaluate[bool](t, ctx, `(() => { document.querySelectorAll(".zoom a")[3].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })); return true; })()`)
			until(t, ctx, shown+` === 1`)
			until(t, ctx, `(() => { const r = document.querySelector(".sheet:target").getBoundingClientRect(); return r.top < innerHeight && r.bottom > 0; })()`)
			picture(t, ctx, "topology.html", fmt.Sprintf("%d-%s-box", width, scheme))
			if wide := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d wide in a window of %d", wide, width)
			}
		}
	}
}
