// Package pages makes the pages of the program allot for hosts that serve pages of their
// own: the report of a decision, and a text of the library with links to more of them.
// What a state holds is text wherever it stands, and no script runs but the pages' own.
package pages

import (
	"context"
	_ "embed"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/page"
	"github.com/allotsched/allot/examples/allot/internal/report"
)

// A Link is a place to go to from a page.
type Link = page.Link

// A Site is what the pages of one host have in common. The zero Site has no links.
type Site struct {
	// Nav is the row of links at the head of every page.
	Nav []Link
	// Address is where the page of a workload or queue is; nil is nowhere. The kind is
	// "workload" or "queue".
	Address func(kind, id string) string
}

// Policy is the Content-Security-Policy of all pages: no script runs but their own, nothing
// is fetched, and nobody frames them.
func Policy() string { return page.Policy(page.Script()) + "; frame-ancestors 'none'" }

// Report is the report of a decision: who runs where, what is shared, what leaves, starts
// and waits, and why. What would help those that wait is tried out, which costs some dozen
// decisions. It fails when the context ends, or where the decision has no plan.
func (s *Site) Report(ctx context.Context, d *allot.Decision) ([]byte, error) {
	return report.Page(ctx, d, report.Options{Nav: s.Nav, Link: s.Address})
}

//go:embed told.html
var toldHTML string

var told = page.Template("told.html", toldHTML, nil)

// Told is a page with a text of the library, such as an explanation, and links below it.
func (s *Site) Told(title, text string, more ...Link) ([]byte, error) {
	return page.Render(told, map[string]any{"Nav": s.Nav, "Title": title, "Text": text, "Links": more})
}
