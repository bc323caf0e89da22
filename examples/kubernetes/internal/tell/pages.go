package tell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/pages"
	"github.com/allotsched/allot/explain"
)

// pageTimeout is how long an answer may take.
const pageTimeout = 30 * time.Second

// An answer is what a page tells, in all forms.
type answer struct {
	// title and text are for people, data is for programs.
	title, text string
	data        any
	// report has a page of the whole decision instead of the text.
	report bool
	more   []pages.Link
}

// Pages serves the newest news:
//
//	/plan                        what was decided, with reasons and shares
//	/explain?pod=NAMESPACE/NAME  everything about the workload of a pod
//	/explain?workload=ID         the same by the workload's ID
//	/explain?queue=ID            why the share of a queue is what it is
//	/state                       the state as JSON: what the program allot reads
//
// The first ones are text, JSON with format=json, and with format=html or for a browser
// pages that lead to each other, of which /plan is the report.
func (r *Reporter) Pages() http.Handler {
	mux := http.NewServeMux()
	turn := make(chan struct{}, 1) // answers cost solves: one at a time
	page := func(path string, ask func(ctx context.Context, n *News, q url.Values) (*answer, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, q *http.Request) {
			n := r.Newest()
			if n == nil {
				http.Error(w, "nothing is decided here: another replica leads, or it has just begun", http.StatusServiceUnavailable)
				return
			}
			ctx, stop := context.WithTimeout(q.Context(), pageTimeout)
			defer stop()
			kind := formOf(q)
			find := func() ([]byte, error) {
				defer func() { <-turn }() // who reads slowly keeps nobody from asking
				a, err := ask(ctx, n, q.URL.Query())
				if err != nil {
					return nil, err
				}
				return a.as(ctx, kind, n.Decision)
			}
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				http.Error(w, "too many questions at once", http.StatusServiceUnavailable)
				return
			}
			switch text, err := find(); {
			case errors.Is(err, allot.ErrUnknown):
				http.Error(w, err.Error(), http.StatusNotFound)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			default:
				h := w.Header()
				h.Set("Content-Type", kind)
				h.Set("Content-Security-Policy", pages.Policy())
				h.Set("X-Content-Type-Options", "nosniff")
				_, _ = w.Write(text) // the reader may have gone
			}
		})
	}
	page("/plan", func(_ context.Context, n *News, _ url.Values) (*answer, error) {
		plan, err := n.Decision.Plan()
		if err != nil {
			return nil, err
		}
		return &answer{text: plan.String(), data: plan, report: true}, nil
	})
	page("/state", func(_ context.Context, n *News, _ url.Values) (*answer, error) {
		return &answer{data: n.Decision.Snapshot().State()}, nil // always as data
	})
	page("/explain", explanation)
	return mux
}

// Server serves the pages at an address, and lets nobody who asks or reads take for ever.
func (r *Reporter) Server(address string) *http.Server {
	return &http.Server{
		Addr: address, Handler: r.Pages(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: pageTimeout + 30*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// The forms of answers.
const (
	asText = "text/plain; charset=utf-8"
	asJSON = "application/json"
	asPage = "text/html; charset=utf-8"
)

// formOf is the form that is asked for: what is said in the address goes before what a
// browser says.
func formOf(q *http.Request) string {
	switch format := q.FormValue("format"); {
	case format == "json" || q.URL.Path == "/state":
		return asJSON
	case format == "html", format == "" && strings.Contains(q.Header.Get("Accept"), "text/html"):
		return asPage
	}
	return asText
}

// as is the answer in a form.
func (a *answer) as(ctx context.Context, form string, d *allot.Decision) ([]byte, error) {
	switch {
	case form == asJSON:
		text, err := json.Marshal(a.data)
		return append(text, '\n'), err
	case form == asText:
		return []byte(a.text), nil
	case a.report:
		return site(true).Report(ctx, d)
	}
	return site(false).Told(a.title, a.text, a.more...)
}

func site(report bool) *pages.Site {
	return &pages.Site{
		Nav:     []pages.Link{{Text: "Report", Href: "/plan?format=html", Here: report}, {Text: "Plan", Href: "/plan?format=text"}},
		Address: explainAddress,
	}
}

// explainAddress is where the page of a workload or queue is.
func explainAddress(kind, id string) string {
	return "/explain?" + url.Values{kind: {id}, "format": {"html"}}.Encode()
}

// explanation answers for a pod, a workload or a queue.
func explanation(ctx context.Context, n *News, q url.Values) (*answer, error) {
	if queue := q.Get("queue"); queue != "" {
		why, err := explain.Queue(ctx, n.Decision, queue)
		if err != nil {
			return nil, err
		}
		return &answer{title: "Queue " + queue, text: why.String(), data: why}, nil
	}
	id := q.Get("workload")
	if id == "" {
		namespace, name, _ := strings.Cut(q.Get("pod"), "/")
		known, ok := n.View.WorkloadOf(types.NamespacedName{Namespace: namespace, Name: name})
		if !ok {
			return nil, fmt.Errorf("%w: pod %q", allot.ErrUnknown, q.Get("pod"))
		}
		id = known
	}
	if why, refused := n.View.Refused["workload "+id]; refused {
		return &answer{title: id, text: "refused: " + why + "\n", data: map[string]string{"workload": id, "refused": why}}, nil
	}
	why, err := explain.Workload(ctx, n.Decision, id)
	if err != nil {
		return nil, err
	}
	a := &answer{title: id, text: why.String(), data: why}
	if why.Queue != "" {
		a.more = []pages.Link{{Text: "Its queue " + why.Queue, Href: explainAddress("queue", why.Queue)}}
	}
	return a, nil
}
