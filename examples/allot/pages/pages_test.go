package pages

import (
	"context"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// The pages tell what they are given, as text, and lead to where the host says.
func TestPages(t *testing.T) {
	snapshot, err := allot.NewSnapshot(&allot.State{
		Nodes: []allot.Node{{ID: "n1", Devices: make([]allot.Device, 4)}},
		Workloads: []allot.Workload{
			{ID: "fits", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 4}}}}},
			{ID: "<waits>", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 4}}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	decision, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	site := &Site{
		Nav:     []Link{{Text: "Plan", Href: "/plan", Here: true}},
		Address: func(kind, id string) string { return "/why?" + kind + "=" + id },
	}
	text, err := site.Report(context.Background(), decision)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="/plan" aria-current="page">Plan</a>`, `<a href="/why?workload=fits">fits</a>`, "&lt;waits&gt;"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report has no %s", want)
		}
	}
	text, err = site.Told("<title>", "why\n  because <b>\n", Link{Text: "more", Href: "/more"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>&lt;title&gt;</h1>", "because &lt;b&gt;", `<a href="/more">more</a>`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if !strings.Contains(Policy(), "script-src 'sha256-") {
		t.Errorf("policy %q", Policy())
	}
}
