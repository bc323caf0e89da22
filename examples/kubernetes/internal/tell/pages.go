package tell

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
)

// Pages serves the newest news:
//
//	/plan                     what was decided, with reasons and shares
//	/explain?pod=NAMESPACE/NAME  everything about the workload of a pod
//	/explain?workload=ID      the same by the workload's ID
//	/state                    the state as JSON: what the program allot reads
//
// With format=json the first two are JSON.
func (r *Reporter) Pages() http.Handler {
	mux := http.NewServeMux()
	page := func(path string, answer func(n *News, q *http.Request) (fmt.Stringer, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, q *http.Request) {
			n := r.Newest()
			if n == nil {
				http.Error(w, "nothing is decided here: another replica leads, or it has just begun", http.StatusServiceUnavailable)
				return
			}
			value, err := answer(n, q)
			switch {
			case errors.Is(err, allot.ErrUnknown):
				http.Error(w, err.Error(), http.StatusNotFound)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			case q.FormValue("format") == "json" || path == "/state":
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(value) // the reader may have gone
			default:
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				_, _ = fmt.Fprint(w, value.String()) // the same
			}
		})
	}
	page("/plan", func(n *News, _ *http.Request) (fmt.Stringer, error) { return n.Decision.Plan() })
	page("/state", func(n *News, _ *http.Request) (fmt.Stringer, error) { return state{n.Decision.Snapshot().State()}, nil })
	page("/explain", func(n *News, q *http.Request) (fmt.Stringer, error) {
		id := q.FormValue("workload")
		if id == "" {
			namespace, name, _ := strings.Cut(q.FormValue("pod"), "/")
			known, ok := n.View.WorkloadOf(types.NamespacedName{Namespace: namespace, Name: name})
			if !ok {
				return nil, fmt.Errorf("%w: pod %q", allot.ErrUnknown, q.FormValue("pod"))
			}
			id = known
		}
		if why, refused := n.View.Refused["workload "+id]; refused {
			return refusal(why), nil
		}
		return explain.Workload(q.Context(), n.Decision, id)
	})
	return mux
}

// A state is one for a page.
type state struct{ *allot.State }

func (s state) String() string { return jsonText(s.State) }

// A refusal is why a workload is not part of the state.
type refusal string

func (r refusal) String() string { return "refused: " + string(r) + "\n" }
