package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/allotsched/allot/examples/allot/internal/desk"
)

const small = `policy: runai
nodes:
- {id: n1, devices: 4}
- {id: n2, devices: 4}
queues:
- {id: a, resources: [{resource: gpu, quota: 4}]}
- {id: b, resources: [{resource: gpu, quota: 4}]}
workloads:
- {id: one, queue: a, podSets: [{count: 1, request: {gpu: 4}}], tasks: [{node: n1, devices: [0, 1, 2, 3]}]}
- {id: two, queue: b, podSets: [{count: 1, request: {gpu: 3}}]}
- {id: three, queue: b, podSets: [{count: 1, request: {gpu: 4}}]}
`

// folder is a folder with versions and things that are none.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	for path, text := range map[string]string{ // each by itself: order cannot matter
		filepath.Join(dir, "v1.yaml"):    small,
		filepath.Join(dir, "v2.yaml"):    strings.Replace(small, "gpu: 3", "gpu: 2", 1),
		filepath.Join(dir, "v10.txt"):    "nodes n1..n2 gpu=4\nqueue a quota=4\nrun a/one gpu=4 on n1\nsubmit a/two gpu=4\nsubmit a/three gpu=8\nsolve\n",
		filepath.Join(dir, "broken.yml"): "nodes: [",
		filepath.Join(dir, "notes.md"):   "nothing",
		secret:                           small,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "z-link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "z-folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func server(t testing.TB, path string) *Server {
	t.Helper()
	s, err := New(path, []string{"gpus.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get asks for a page as a browser on the same machine does.
func get(s http.Handler, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8420/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL = &url.URL{Path: path, RawQuery: query}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestPages(t *testing.T) {
	s := server(t, folder(t))
	for _, test := range []struct {
		target string
		code   int
		want   string
	}{
		{"/", 200, "What waits, and why"},
		{"/", 200, `href="/workload?id=three"`},
		{"/?v=v1.yaml", 200, `href="/workload?id=three&amp;v=v1.yaml"`},
		{"/topology", 200, "The cluster and the plan"},
		{"/topology?v=v1.yaml", 200, `href="/?v=v1.yaml"`},
		{"/workload", 200, "A workload, by its ID"},
		{"/workload?id=two&v=v1.yaml", 200, `b/two`},
		{"/workload?id=b%2Ftwo&v=v1.yaml&help=yes", 200, "with any one of"},
		{"/workload?id=thre&v=v1.yaml", 200, "there is no workload &#34;thre&#34;"},
		{"/queue?id=b&v=v1.yaml", 200, "queue b"},
		{"/queue?id=c&v=v1.yaml", 200, "there is no queue &#34;c&#34;"},
		{"/whatif", 200, "the node takes nothing new"},
		{"/whatif?v=v1.yaml&edits=cordon+n2", 200, "b/three"},
		{"/whatif?v=v1.yaml&edits=cordon+n3", 200, "there is no node &#34;n3&#34;"},
		{"/versions", 200, "v10.txt"},
		{"/compare?a=v1.yaml&b=v2.yaml", 200, "From v1.yaml to v2.yaml"},
		{"/compare?a=v1.yaml", 400, "Which two"},
		{"/?v=broken.yml", 422, "must be YAML"},
		{"/?v=v3.yaml", 404, "no such version"},
		{"/?v=../secret.yaml", 404, "no such version"},
		{"/?v=z-link.yaml", 404, "no such version"},
		{"/?v=z-folder.yaml", 404, "no such version"},
		{"/?v=notes.md", 404, "no such version"},
		{"/etc/passwd", 404, "no such page"},
		{"/topology?in=nowhere", 422, "there is no domain"},
		{"/?v=%zz", 400, "makes no sense"},
		{"/whatif?edits=" + strings.Repeat("x", 21<<10), 414, "too long"},
		{"/whatif?edits=" + strings.Repeat("x", 17<<10), 200, "changes may have"},
	} {
		w := get(s, test.target)
		if body := w.Body.String(); w.Code != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d, without %q:\n%s", test.target, w.Code, test.want, body[strings.Index(body, "<main>"):])
		}
		if w.Header().Get("X-Frame-Options") != "DENY" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", test.target, w.Header())
		}
	}
}

// What no honest browser on this machine asks is refused.
func TestRefuses(t *testing.T) {
	s := server(t, folder(t))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, test := range []struct {
		name   string
		target string
		change []func(*http.Request)
		code   int
	}{
		{"another name", "/", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }}, 421},
		{"a name that begins so", "/", []func(*http.Request){func(r *http.Request) { r.Host = "localhost.evil.example" }}, 421},
		{"no name", "/", []func(*http.Request){func(r *http.Request) { r.Host = "" }}, 421},
		{"an address", "/", []func(*http.Request){func(r *http.Request) { r.Host = "192.0.2.1:80" }}, 421},
		{"a name it was told", "/", []func(*http.Request){func(r *http.Request) { r.Host = "GPUs.example.com:8420" }}, 200},
		{"the loopback", "/", []func(*http.Request){func(r *http.Request) { r.Host = "[::1]:8420" }}, 200},
		{"another method", "/", []func(*http.Request){func(r *http.Request) { r.Method = http.MethodPost }}, 405},
		{"delete", "/?v=v1.yaml", []func(*http.Request){func(r *http.Request) { r.Method = http.MethodDelete }}, 405},
		{"another site's script", "/", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "no-cors")}, 403},
		{"another site's link to a question", "/whatif?edits=cordon+n1", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")}, 403},
		{"another site's link", "/", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate")}, 200},
		{"its own", "/whatif?edits=cordon+n1", []func(*http.Request){header("Sec-Fetch-Site", "same-origin")}, 200},
	} {
		if w := get(s, test.target, test.change...); w.Code != test.code {
			t.Errorf("%s: %d, want %d", test.name, w.Code, test.code)
		}
	}
}

// A file that is too large, or a state, is refused before it takes memory.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "large.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(MaxFile + 1); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if w := get(server(t, dir), "/"); w.Code != 422 || !strings.Contains(w.Body.String(), "larger than 16 MiB") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := os.WriteFile(filepath.Join(dir, "tasks.txt"), []byte("queue q\nsubmit q/a tasks=50001 gpu=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w := get(server(t, dir), "/"); w.Code != 422 || !strings.Contains(w.Body.String(), "at most 50000 tasks") {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

// Whatever an answer does, it is given up in time, and keeps its place until it ends.
func TestInTime(t *testing.T) {
	s := server(t, folder(t))
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	end := make(chan struct{})
	slow := onePage{make: func(*Server, context.Context, url.Values) ([]byte, string, error) {
		<-end
		return nil, "", nil
	}}
	s.busy <- struct{}{}
	if _, _, err := s.inTime(ctx, slow, nil); err == nil || len(s.busy) != 1 {
		t.Errorf("%v, %d places are taken", err, len(s.busy))
	}
	close(end)
	s.busy <- struct{}{} // two are free once the slow one has ended
	s.busy <- struct{}{}
	if _, _, err := s.inTime(context.Background(), onePage{make: func(*Server, context.Context, url.Values) ([]byte, string, error) { panic("x") }}, nil); err == nil {
		t.Error("a panic is no error")
	}
}

// Queues one below the other are bounded, as deciding takes time by their depth.
func TestDeepQueues(t *testing.T) {
	dir := t.TempDir()
	text := "queues:\n- {id: q0}\n"
	for i := 1; i <= desk.MaxDeep; i++ {
		text += fmt.Sprintf("- {id: q%d, parent: q%d}\n", i, i-1)
	}
	if err := os.WriteFile(filepath.Join(dir, "deep.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if w := get(server(t, dir), "/"); w.Code != 422 || !strings.Contains(w.Body.String(), "one below the other") {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

// A file that is written anew is read anew, and one that is not is not.
func TestReadsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	write := func(text string, at time.Time) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(small, time.Unix(1000, 0))
	s := server(t, path)
	before, err := s.files.version(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.files.version(context.Background(), "")
	if err != nil || again != before {
		t.Errorf("read again: %v", err)
	}
	write(strings.ReplaceAll(small, "three", "third"), time.Unix(2000, 0))
	if w := get(s, "/"); !strings.Contains(w.Body.String(), "b/third") {
		t.Error("the new content is not there")
	}
}

// A version that took too long is made again when it is asked for.
func TestForgets(t *testing.T) {
	f := server(t, folder(t)).files
	first := f.keep("v1.yaml", stamp{})
	<-first.made
	if again := f.keep("v1.yaml", stamp{}); again != first {
		t.Error("it is not kept")
	}
	f.forget(first)
	if again := f.keep("v1.yaml", stamp{}); again == first {
		t.Error("it is not forgotten")
	}
}

// The same version has the same pages, byte for byte.
func TestSamePages(t *testing.T) {
	dir := folder(t)
	for _, target := range []string{"/", "/topology", "/workload?id=two&help=yes", "/versions"} {
		if a, b := get(server(t, dir), target).Body.String(), get(server(t, dir), target).Body.String(); a != b {
			t.Errorf("%s has other bytes the second time", target)
		}
	}
}

// More questions than may wait are refused at once.
func TestBusy(t *testing.T) {
	s := server(t, folder(t))
	for range cap(s.line) {
		s.line <- struct{}{}
	}
	if w := get(s, "/"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d", w.Code)
	}
	for range cap(s.line) {
		<-s.line
	}
	for range cap(s.busy) {
		s.busy <- struct{}{}
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	w := get(s, "/", func(r *http.Request) { *r = *r.WithContext(ctx) })
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}

// Over a real connection: it answers, it ends when it is told to, and a client that says
// nothing does not keep it.
func TestListen(t *testing.T) {
	s := server(t, folder(t))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback here:", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Listen(ctx, l) }()
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := &http.Client{Timeout: 20 * time.Second}
	response, err := client.Get("http://" + l.Addr().String() + "/versions")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !strings.Contains(string(text), "v10.txt") {
		t.Errorf("%d %v", response.StatusCode, err)
	}
	response.Body.Close()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

// FuzzQuery: whatever is asked, there is an answer in time, no script but the program's
// own and no name of the state or of the question that is markup.
func FuzzQuery(f *testing.F) {
	s := server(f, folder(f))
	for _, seed := range [][2]string{
		{"/whatif", "edits=add+256xn1%0Aadd+1xn2"}, {"/whatif", "edits=quota+a%3D9007199254740991"}, {"/whatif", "edits=quota+a%3D1e300"},
		{"/whatif", "edits=lose+n1,n2%0Aend+one,one%0Asubmit+x&jobs=-+id%3A+x"}, {"/whatif", "edits=priority+one%3D-2147483648"},
		{"/whatif", "edits=to+one%3Db&jobs=-+%7Bid%3A+x,+queue%3A+b,+podSets%3A+[{count%3A+999999999}]%7D&v=v1.yaml"}, {"/whatif", "edits=class+one%3Dbuild"},
		{"/workload", "id=<script>alert(1)</script>"}, {"/queue", "id=%22%3E%3Cscript%3E"}, {"/", "v=..%2F..%2Fetc%2Fpasswd"}, {"/", "v=v1.yaml%00"},
		{"/topology", "in=a/b/c"}, {"/compare", "a=v1.yaml&b=v10.txt"}, {"//", "x"}, {"/versions", ";;;=&&"}, {"/workload", "id=%ff%fe"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		if !strings.HasPrefix(path, "/") || strings.Contains(query, "help=yes") {
			return
		}
		begin := time.Now()
		w := get(s, path+"?"+query)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		body := strings.ToLower(w.Body.String())
		if w.Code >= 500 || strings.Count(body, "<script") > 1 || strings.Contains(body, "<script>alert") || w.Body.Len() > 1<<20 {
			t.Errorf("%d with %d bytes:\n%.500s", w.Code, w.Body.Len(), body)
		}
	})
}

// Clients that ask slowly, read slowly or say nothing any more are cut off, and as long as they
// are there, others are answered.
func TestSlowClients(t *testing.T) {
	s := server(t, folder(t))
	s.times = times{ask: 300 * time.Millisecond, some: 300 * time.Millisecond, all: time.Second, again: 300 * time.Millisecond}
	text := make([]byte, 32<<20)
	s.mux.HandleFunc("/large", s.answer(onePage{make: func(*Server, context.Context, url.Values) ([]byte, string, error) { return text, htmlType, nil }}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback here:", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Listen(ctx, l) }()
	defer func() { stop(); <-done }()
	began := time.Now()
	var ended sync.WaitGroup
	client := func(what string, say string, each time.Duration) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			defer c.Close()
			for i := range len(say) {
				if _, err := c.Write([]byte{say[i]}); err != nil {
					return
				}
				time.Sleep(each)
			}
			if what == "reads slowly" { // what is on its way comes, and no more
				time.Sleep(s.times.all * 3 / 2)
			}
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			if n, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) || n >= int64(len(text)) {
				t.Errorf("who %s has got %d bytes, %v", what, n, err)
			}
		})
	}
	for range 10 {
		client("says nothing", "", 0)
		client("asks slowly", "GET /versions HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 100)+"\r\n\r\n", 20*time.Millisecond)
		client("has a body that never comes", "GET /versions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", 0)
		client("asks once", "GET /versions HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
		client("reads slowly", "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
		client("reads slowly", "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
	}
	for len(s.large) < atLarge && time.Since(began) < 10*time.Second {
		time.Sleep(time.Millisecond)
	}
	honest := &http.Client{Timeout: 20 * time.Second}
	response, err := honest.Get("http://" + l.Addr().String() + "/versions")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "v10.txt") {
		t.Errorf("%d %v", response.StatusCode, err)
	}
	ended.Wait()
	if took := time.Since(began); took > 15*time.Second || len(s.large) > 0 {
		t.Errorf("they took %v, and %d still read", took, len(s.large))
	}
}
