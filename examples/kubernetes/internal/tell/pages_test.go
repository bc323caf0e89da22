package tell

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/internal/mirror"
)

// newsOf is the news of a state.
func newsOf(t *testing.T, s *allot.State) *News {
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	return &News{Decision: d, View: &mirror.View{}}
}

// A stalled reader takes nothing until it is let go.
type stalled struct {
	*httptest.ResponseRecorder
	began, end chan struct{}
}

func (s stalled) Write(text []byte) (int, error) {
	close(s.began)
	<-s.end
	return s.ResponseRecorder.Write(text)
}

// Who does not read what he has asked for keeps nobody from asking.
func TestReadersDoNotWaitForEachOther(t *testing.T) {
	r := new(Reporter)
	r.Publish(newsOf(t, &allot.State{Nodes: []allot.Node{{ID: "n1"}}}))
	h := r.Pages()
	slow := stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	gone, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		h.ServeHTTP(slow, httptest.NewRequest("GET", "/state", nil))
	}()
	<-slow.began
	next := httptest.NewRecorder()
	go func() {
		defer close(answered)
		h.ServeHTTP(next, httptest.NewRequest("GET", "/plan", nil))
	}()
	select {
	case <-answered:
		if next.Code != http.StatusOK {
			t.Errorf("the next one is answered %d: %s", next.Code, next.Body)
		}
	case <-time.After(10 * time.Second):
		t.Error("the next one waits for the reader before")
	}
	close(slow.end)
	<-gone
	<-answered
}

// The server of the pages lets nobody take for ever.
func TestServerHasLimits(t *testing.T) {
	s := new(Reporter).Server("127.0.0.1:0")
	if min(s.ReadHeaderTimeout, s.ReadTimeout, s.IdleTimeout) <= 0 || s.WriteTimeout <= pageTimeout || s.MaxHeaderBytes <= 0 {
		t.Errorf("no limit somewhere: %+v", s)
	}
}

// A text that is too long for an event is cut between letters.
func TestLongReasonsAreCutBetweenLetters(t *testing.T) {
	for k := range 3 {
		text := reasonsText([]allot.Reason{{Code: allot.OverLimit, Queue: strings.Repeat("x", k) + strings.Repeat("é", 600)}})
		if !utf8.ValidString(text) || len(text) > 1000 || !strings.HasSuffix(text, "…") {
			t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-10:])
		}
	}
}

// The API server takes no longer messages of conditions than 32 KiB. A promise that is longer is
// told without its places, and nothing else is lost.
func TestLongPromisesAreToldShortly(t *testing.T) {
	if c := promise(strings.Repeat("x", mostMessage)); len(c.Message) != mostMessage {
		t.Errorf("%d bytes", len(c.Message))
	}
	if c := promise(strings.Repeat("x", mostMessage+1)); len(c.Message) > 200 || c.Status != "True" || c.Message == "" {
		t.Errorf("%d bytes: %+v", len(c.Message), c.Status)
	}
}
