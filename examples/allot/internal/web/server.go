// Package web is the server of the program: the report of a state, or of the newest of
// several in a folder, its picture, why a workload waits, what changes would do, and how
// it has gone over time. It only reads.
//
// # What it is safe against
//
// It answers whoever can reach it, and by default that is who is on the same machine.
// Pages of others in a browser there cannot: the name by which it was called must be one
// that it was told or a loopback's, what another site asks for is refused, and no page
// may be framed. Names of files are looked up among those of the folder and opened below
// it ([os.Root]). What a state or an address holds is text wherever it stands, and no
// script runs but the program's own.
//
// Addresses have at most 20 KiB and files [MaxFile] bytes; how large a state may be, whatever a few
// bytes of a file multiply, is told by [desk.Bounded], and holds for what changes make of it. Two
// answers are worked out at once and sixteen more wait; each is answered after [Timeout] at the
// latest, whatever it does: what cannot be stopped, as the reading of a file, keeps its place
// among the two until it ends. Files are read one at a time. What is kept is bounded: three
// versions, of each eight pages of 24 MiB together, and a line for each of a thousand versions.
//
// A client that is slow is cut off: it has 5 seconds to say what it asks, 10 to go on reading
// an answer, a minute to have read it, and a connection that is not used ends after 10. Nobody
// waits for it but those whom its connection would have served: of those there are 64, and
// eight answers above a mebibyte are under way at once.
//
// So the program stays below [Memory], also with three of the largest states, two answers about
// them and a hostile file at once: 1.5 GiB were the most that a test of that has seen.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/examples/allot/internal/page"
)

// The limits of the server.
const (
	// Timeout is how long an answer may take.
	Timeout = 30 * time.Second
	// Memory is what the program stays below, in bytes. Collect is what its collector is told to
	// keep to: what it holds in earnest is less.
	Memory  = 2 << 30
	Collect = Memory / 4 * 3

	atOnce   = 2
	mayWait  = 16
	maxQuery = 20 << 10

	// Answers of more than large bytes are written to so many clients at once.
	large   = 1 << 20
	atLarge = 8
)

// times are how long clients may take: to say what they ask, to read some of the answer, to
// read all of it, and to ask anew.
type times struct{ ask, some, all, again time.Duration }

var usual = times{ask: 5 * time.Second, some: 10 * time.Second, all: time.Minute, again: 10 * time.Second}

// A Server answers from the files of a state.
type Server struct {
	files *files
	hosts []string
	busy  chan struct{} // those that are worked out
	line  chan struct{} // those and what waits for them
	large chan struct{} // large answers that are written
	times times
	mux   *http.ServeMux
}

// New is a server of a file or folder. Beside the names of the loopback it answers to
// hosts.
func New(path string, hosts []string) (*Server, error) {
	f, err := openFiles(path)
	if err != nil {
		return nil, err
	}
	s := &Server{files: f, hosts: hosts, busy: make(chan struct{}, atOnce), line: make(chan struct{}, atOnce+mayWait)}
	s.large, s.times, s.mux = make(chan struct{}, atLarge), usual, http.NewServeMux()
	for _, p := range pages {
		s.mux.HandleFunc(p.path, s.answer(p))
	}
	return s, nil
}

// First reads the newest version, to say at the start what is wrong with it.
func (s *Server) First(ctx context.Context) error {
	_, err := s.files.version(ctx, "")
	return err
}

// Listen answers at an address until the context ends.
func (s *Server) Listen(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: s.times.ask, ReadTimeout: s.times.ask, WriteTimeout: Timeout + s.times.all,
		IdleTimeout: s.times.again, MaxHeaderBytes: maxQuery + 12<<10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(limited(l, maxConnections)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if err := server.Shutdown(end); err != nil {
		return server.Close()
	}
	return nil
}

// ServeHTTP refuses what no honest browser asks, and answers the rest.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", page.Policy(page.Script())+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.knows(r.Host):
		s.refuse(w, http.StatusMisdirectedRequest, "This server does not answer to that name. It may be told to with -host.")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		s.refuse(w, http.StatusMethodNotAllowed, "This server only reads.")
	case len(r.URL.RawQuery) > maxQuery || len(r.URL.Path) > 200:
		s.refuse(w, http.StatusRequestURITooLong, "That address is too long.")
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && (r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.URL.RawQuery != ""):
		s.refuse(w, http.StatusForbidden, "Another site asks for this page. Open it yourself.")
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// knows says whether the server is called so.
func (s *Server) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || slices.Contains(s.hosts, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// A known is an error with what it is to a browser.
type known struct {
	code int
	text string
}

func (e *known) Error() string { return e.text }

// answer is the handler of a page: in its turn, with its time.
func (s *Server) answer(p onePage) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			s.refuse(w, http.StatusBadRequest, "That address makes no sense.")
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), Timeout)
		defer stop()
		text, kind, err := s.inTurn(ctx, p, query)
		var refused *known
		switch {
		case errors.Is(err, errTooMany):
			w.Header().Set("Retry-After", "5")
			s.refuse(w, http.StatusServiceUnavailable, "Too many questions at once.")
		case ctx.Err() != nil && err != nil:
			s.refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("The answer took longer than %v.", Timeout))
		case errors.As(err, &refused):
			s.refuse(w, refused.code, refused.text)
		case errors.Is(err, errNoVersion):
			s.refuse(w, http.StatusNotFound, "There is no such version.")
		case err != nil:
			s.refuse(w, http.StatusUnprocessableEntity, err.Error())
		default:
			s.write(w, r, kind, text)
		}
	}
}

var errTooMany = errors.New("too many questions at once")

// inTurn makes a page when it is its turn, unless too many wait. Whoever reads it slowly keeps
// nobody waiting.
func (s *Server) inTurn(ctx context.Context, p onePage, query url.Values) ([]byte, string, error) {
	select {
	case s.line <- struct{}{}:
		defer func() { <-s.line }()
	default:
		return nil, "", errTooMany
	}
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, "", errTooMany
	}
	return s.inTime(ctx, p, query)
}

// write answers with a page, as long as the client goes on reading.
func (s *Server) write(w http.ResponseWriter, r *http.Request, kind string, text []byte) {
	if len(text) > large {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		default:
			w.Header().Set("Retry-After", "5")
			s.refuse(w, http.StatusServiceUnavailable, "Too many large pages are read at once.")
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	slow := &slowWriter{w, http.NewResponseController(w), s.times.some, time.Now().Add(s.times.all)}
	http.ServeContent(slow, r, "", time.Time{}, bytes.NewReader(text))
}

// A slowWriter gives the client time for each piece, and for all of them.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	some    time.Duration
	end     time.Time
}

func (w *slowWriter) Write(piece []byte) (int, error) {
	until := time.Now().Add(w.some)
	if w.end.Before(until) {
		until = w.end
	}
	if err := w.control.SetWriteDeadline(until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return w.ResponseWriter.Write(piece)
}

// inTime makes a page, or gives up when the context ends: what cannot be stopped goes on and
// keeps its place among those that are worked out, so that there are never more.
func (s *Server) inTime(ctx context.Context, p onePage, query url.Values) ([]byte, string, error) {
	type page struct {
		text []byte
		kind string
		err  error
	}
	made := make(chan page, 1)
	go func() {
		defer func() { <-s.busy }()
		var one page
		defer func() {
			if r := recover(); r != nil {
				one = page{err: fmt.Errorf("that is a bug of Allot: %v", r)}
			}
			made <- one
		}()
		one.text, one.kind, one.err = p.make(s, ctx, query)
	}()
	select {
	case one := <-made:
		return one.text, one.kind, one.err
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

// mostError is how much of an error a page tells.
const mostError = 4 << 10

// refuse answers with what is wrong.
func (s *Server) refuse(w http.ResponseWriter, code int, text string) {
	if len(text) > mostError {
		text = strings.ToValidUTF8(text[:mostError], "") + " …"
	}
	made, err := page.Render(shell, &shellPage{Title: http.StatusText(code), Nav: nav("", ""), Problem: text})
	if err != nil {
		http.Error(w, "The page cannot be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", htmlType)
	w.WriteHeader(code)
	if _, err := w.Write(made); err != nil {
		return // who asked has gone
	}
}

const htmlType = "text/html; charset=utf-8"

// maxConnections is how many there may be at once.
const maxConnections = 64

// limited accepts so many connections at once; others wait in the system's queue.
func limited(l net.Listener, most int) net.Listener {
	return &limitedListener{l, make(chan struct{}, most)}
}

type limitedListener struct {
	net.Listener
	open chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	l.open <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &limitedConn{Conn: c, open: l.open}, nil
}

type limitedConn struct {
	net.Conn
	open chan struct{}
	done atomicOnce
}

func (c *limitedConn) Close() error {
	if c.done.first() {
		defer func() { <-c.open }()
	}
	return c.Conn.Close()
}

// A shellPage is every page but the report and the picture.
type shellPage struct {
	Title, Lead, Problem string
	Nav                  []page.Link
	// Version is the one that is asked about, where it is not the newest.
	Version string
	Text    string
	Links   []page.Link
	Form    *form
	// Rows are the versions, Chart how they went.
	Rows  []summary
	Chart *chart
}

// A form asks what if.
type form struct {
	Action, Name, Value, Label, Button string
	Lines                              int
	// Second is a further text that may be said, where it has a name.
	Second, SecondName, SecondLabel string
	Examples                        []string
}

var shell = page.Template("shell.html", shellHTML, nil)
