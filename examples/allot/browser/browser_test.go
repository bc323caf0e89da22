package browser

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "write pictures of the pages to this `folder`")

// look is the script that looks at a page.
//
//go:embed look.js
var look string

// seen is what look finds.
type seen struct {
	Width, Height int64
	Headline      string
	Text          string
	Charts        []string
	Squares       int
	Letters       int
	Anchors       []string
	Problems      []string
}

// browser starts Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROME")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here, so nobody looks at the pages (apt-get install chromium; or CHROME=PATH)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// view opens a page at a width of the window and a scheme of colours.
func view(t *testing.T, ctx context.Context, file string, width int64, scheme string) *seen {
	t.Helper()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	// The events come from another goroutine, but before the answer to what
	// follows them.
	var lock sync.Mutex
	var asked, said []string
	err := chromedp.Listen(ctx, func(event any) {
		lock.Lock()
		defer lock.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "data:") {
				asked = append(asked, e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			said = append(said, e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			said = append(said, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	address := file
	if !strings.HasPrefix(file, "http:") {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		// The browser reads it as well, but of that the go command knows nothing.
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		address = "file://" + filepath.ToSlash(path)
	}
	if err := open(ctx, address, width, scheme); err != nil {
		t.Fatal(err)
	}
	picture(t, ctx, file, fmt.Sprintf("%d-%s", width, scheme))
	// The script opens what is folded away and looks at that as well.
	found, err := chromedp.Run(ctx, chromedp.Evaluate[seen](look))
	if err != nil {
		t.Fatal(err)
	}
	picture(t, ctx, file, fmt.Sprintf("%d-%s-unfolded", width, scheme))
	lock.Lock()
	defer lock.Unlock()
	if len(asked) != 1 || asked[0] != address {
		t.Errorf("the page asks for %q", asked)
	}
	for _, text := range said {
		t.Errorf("the browser says: %s", text)
	}
	for _, problem := range found.Problems {
		t.Error(problem)
	}
	if found.Width > width {
		t.Errorf("the page is %d wide in a window of %d", found.Width, width)
	}
	return &found
}

// picture keeps a picture of the page, where that is wanted.
func picture(t *testing.T, ctx context.Context, file, of string) {
	t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		t.Fatal(err)
	}
	base := strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-", ":", "-").Replace(strings.TrimSuffix(filepath.Base(file), ".html"))
	if err := os.WriteFile(filepath.Join(*shots, base+"-"+of+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// open opens the page in a window of the width and with the scheme of colours.
func open(ctx context.Context, address string, width int64, scheme string) error {
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		return err
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		return err
	}
	return chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
}

// everywhere views a page at the width of a desk and of a phone, light and dark.
func everywhere(t *testing.T, file string, check func(*testing.T, *seen)) {
	ctx := browser(t)
	for _, width := range []int64{1280, 400} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, scheme), func(t *testing.T) {
				check(t, view(t, ctx, file, width, scheme))
			})
		}
	}
}

// program builds the program once.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "allot")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "allot")
	command := exec.Command("go", "build", "-o", path, ".")
	command.Dir = ".."
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return path, nil
})

// made is a file with what the program prints.
func made(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(path, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// evaluate runs a script in the page.
func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// until waits for a script to say true.
func until(t *testing.T, ctx context.Context, script string) {
	t.Helper()
	for range 900 {
		if evaluate[bool](t, ctx, script) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s never was so", script)
}
