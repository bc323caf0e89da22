package web

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/allotsched/allot/examples/allot/internal/desk"
	"github.com/allotsched/allot/examples/allot/internal/page"
	"github.com/allotsched/allot/examples/allot/internal/report"
	"github.com/allotsched/allot/examples/allot/internal/topology"
)

//go:embed shell.html
var shellHTML string

// onePage is a page with what makes it.
type onePage struct {
	path string
	make func(s *Server, ctx context.Context, q url.Values) (text []byte, kind string, err error)
}

var pages = []onePage{
	{"/{$}", (*Server).report},
	{"/topology", (*Server).topology},
	{"/workload", (*Server).workload},
	{"/queue", (*Server).queue},
	{"/whatif", (*Server).whatif},
	{"/versions", (*Server).versions},
	{"/compare", (*Server).compare},
	{"/", func(*Server, context.Context, url.Values) ([]byte, string, error) {
		return nil, "", &known{http.StatusNotFound, "There is no such page."}
	}},
}

// address is a page of a version; pairs are further names and values.
func address(path, version string, pairs ...string) string {
	q := url.Values{}
	if version != "" {
		q.Set("v", version)
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// nav is the row of links of all pages.
func nav(here, version string) []page.Link {
	links := []page.Link{
		{Text: "Report", Href: address("/", version)},
		{Text: "Topology", Href: address("/topology", version)},
		{Text: "Why", Href: address("/workload", version)},
		{Text: "What if", Href: address("/whatif", version)},
		{Text: "Versions", Href: "/versions"},
	}
	for i := range links {
		links[i].Here = links[i].Text == here
	}
	return links
}

// said is a value of the query that makes sense as text; empty is none.
func said(q url.Values, name string) string {
	if text := q.Get(name); utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		return text
	}
	return ""
}

// of is the version that is asked about.
func (s *Server) of(ctx context.Context, q url.Values) (*version, error) {
	return s.files.version(ctx, said(q, "v"))
}

func shown(p *shellPage) ([]byte, string, error) {
	text, err := page.Render(shell, p)
	return text, htmlType, err
}

func (s *Server) report(ctx context.Context, q url.Values) ([]byte, string, error) {
	v, err := s.of(ctx, q)
	if err != nil {
		return nil, "", err
	}
	asked := said(q, "v")
	text, err := v.page(address("/", asked), func() ([]byte, error) {
		return report.Page(ctx, v.Decision, report.Options{
			Nav:  nav("Report", asked),
			Link: func(kind, id string) string { return address("/"+kind, asked, "id", id) },
		})
	})
	return text, htmlType, err
}

func (s *Server) topology(ctx context.Context, q url.Values) ([]byte, string, error) {
	v, err := s.of(ctx, q)
	if err != nil {
		return nil, "", err
	}
	asked, in := said(q, "v"), said(q, "in")
	links := `<nav class="site">`
	for _, l := range nav("Topology", asked) {
		links += `<a href="` + template.HTMLEscapeString(l.Href) + `">` + template.HTMLEscapeString(l.Text) + `</a> `
	}
	text, err := v.page(address("/topology", asked, "in", in), func() ([]byte, error) {
		picture, err := topology.Draw(v.State, v.Plan, topology.Options{Page: true, In: in, Nav: links + "</nav>\n"})
		return []byte(picture), err
	})
	return text, htmlType, err
}

// helpSolves is how many decisions are spent on what would help a workload: of a cluster
// of a thousand nodes as many as there is time for.
func (v *version) helpSolves() int {
	if len(v.State.Nodes) > 200 {
		return 12
	}
	return 48
}

func (s *Server) workload(ctx context.Context, q url.Values) ([]byte, string, error) {
	v, err := s.of(ctx, q)
	if err != nil {
		return nil, "", err
	}
	asked, name := said(q, "v"), said(q, "id")
	p := &shellPage{Title: "Why does it wait, run or leave?", Nav: nav("Why", asked), Version: asked}
	p.Form = &form{Action: "/workload", Name: "id", Value: name, Label: "A workload, by its ID, or with its queue before it", Button: "Why?"}
	if name == "" {
		return shown(p)
	}
	solves := 0
	if q.Get("help") == "yes" {
		solves = v.helpSolves()
	}
	if p.Text, err = v.Workload(ctx, name, solves); err != nil {
		if ctx.Err() != nil {
			return nil, "", err
		}
		p.Problem = err.Error()
		return shown(p)
	}
	p.Title = name
	if solves == 0 {
		p.Links = append(p.Links, page.Link{Text: "What would help it? (takes some seconds)", Href: address("/workload", asked, "id", name, "help", "yes")})
	}
	if w, ok := v.Snapshot.Workload(name); ok && w.Queue != "" {
		p.Links = append(p.Links, page.Link{Text: "Its queue " + w.Queue, Href: address("/queue", asked, "id", w.Queue)})
	}
	return shown(p)
}

func (s *Server) queue(ctx context.Context, q url.Values) ([]byte, string, error) {
	v, err := s.of(ctx, q)
	if err != nil {
		return nil, "", err
	}
	asked, id := said(q, "v"), said(q, "id")
	p := &shellPage{Title: "Why this share?", Nav: nav("", asked), Version: asked}
	p.Form = &form{Action: "/queue", Name: "id", Value: id, Label: "A queue, by its ID", Button: "Why?"}
	if id == "" {
		return shown(p)
	}
	if p.Text, err = v.Queue(ctx, id); err != nil {
		if ctx.Err() != nil {
			return nil, "", err
		}
		p.Problem = err.Error()
	}
	return shown(p)
}

func (s *Server) whatif(ctx context.Context, q url.Values) ([]byte, string, error) {
	v, err := s.of(ctx, q)
	if err != nil {
		return nil, "", err
	}
	asked, text := said(q, "v"), said(q, "edits")
	p := &shellPage{Title: "What if?", Nav: nav("What if", asked), Version: asked, Lead: "Changes of the state, one in a line. Nothing is changed: the plan of the state so changed is compared with that of the state as it is."}
	p.Form = &form{Action: "/whatif", Name: "edits", Value: text, Label: "Changes", Button: "What would that do?", Lines: 5, Examples: desk.EditHelp(), Second: said(q, "jobs"), SecondName: "jobs", SecondLabel: "Jobs to submit besides, as YAML"}
	all, jobs := q.Get("all") == "yes", said(q, "jobs")
	if strings.TrimSpace(text+jobs) == "" {
		return shown(p)
	}
	if p.Text, err = v.WhatIf(ctx, text, jobs, all); err == nil && !all {
		p.Links = append(p.Links, page.Link{Text: "All of it", Href: address("/whatif", asked, "edits", text, "jobs", jobs, "all", "yes")})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", err
		}
		p.Problem = err.Error()
	}
	return shown(p)
}

// readAtOnce is how many versions are decided for one page of all.
const readAtOnce = 12

func (s *Server) versions(ctx context.Context, q url.Values) ([]byte, string, error) {
	names, err := s.files.names()
	if err != nil {
		return nil, "", err
	}
	p := &shellPage{Title: "Versions", Nav: nav("Versions", ""), Lead: "The states of the folder in the order of their names, the newest first."}
	read := 0
	rows := make([]summary, len(names))
	for i := len(names) - 1; i >= 0; i-- {
		before := s.files.summarise(ctx, names[i], false)
		if !before.Known && read < readAtOnce && ctx.Err() == nil {
			read++
			before = s.files.summarise(ctx, names[i], true)
		}
		rows[i] = before
	}
	p.Chart = chartOf(rows)
	left := 0
	for i := len(rows) - 1; i >= 0; i-- {
		if !rows[i].Known {
			left++
		}
		p.Rows = append(p.Rows, rows[i])
	}
	if left > 0 {
		p.Lead += " " + strconv.Itoa(left) + " are not read yet: each time this page is opened, the next " + strconv.Itoa(readAtOnce) + " are."
	}
	if len(names) > 1 {
		p.Links = append(p.Links, page.Link{Text: "What is otherwise between the last two?", Href: "/compare?" + url.Values{"a": {names[len(names)-2]}, "b": {names[len(names)-1]}}.Encode()})
	}
	return shown(p)
}

func (s *Server) compare(ctx context.Context, q url.Values) ([]byte, string, error) {
	a, b := said(q, "a"), said(q, "b")
	if a == "" || b == "" {
		return nil, "", &known{http.StatusBadRequest, "Which two versions?"}
	}
	p := &shellPage{Title: "From " + a + " to " + b, Nav: nav("", ""), Lead: "What the plan of the second says otherwise than that of the first."}
	one, err := s.files.version(ctx, a)
	if err != nil {
		return nil, "", err
	}
	other, err := s.files.version(ctx, b)
	if err != nil {
		return nil, "", err
	}
	if p.Text, err = desk.Difference(&one.Subject, &other.Subject); err != nil {
		return nil, "", err
	}
	return shown(p)
}

// Href is the report of a version.
func (s summary) Href() string { return address("/", s.Name) }

// A chart is the use of GPUs and what waits over the versions, as paths in a box of 1000
// by 160.
type chart struct {
	Used, Waits, Label string
	Most               string
	MostWaits          int
}

// chartOf draws the versions that are known, if there are two.
func chartOf(rows []summary) *chart {
	c := &chart{}
	var known []summary
	var most int64
	for _, r := range rows {
		if r.Known && r.Problem == "" {
			known = append(known, r)
			if r.usable > most {
				most, c.Most = r.usable, r.Usable
			}
			c.MostWaits = max(c.MostWaits, r.Waits)
		}
	}
	if len(known) < 2 {
		return nil
	}
	used, waits := &strings.Builder{}, &strings.Builder{}
	for i, r := range known {
		x, letter := i*1000/(len(known)-1), "L"
		if i == 0 {
			letter = "M"
		}
		used.WriteString(letter + strconv.Itoa(x) + " " + strconv.FormatInt(155-ratio(r.used, most), 10))
		waits.WriteString(letter + strconv.Itoa(x) + " " + strconv.FormatInt(155-ratio(int64(r.Waits), int64(c.MostWaits)), 10))
	}
	c.Used, c.Waits = used.String(), waits.String()
	first, last := known[0], known[len(known)-1]
	c.Label = "From " + first.Name + " to " + last.Name + ": GPUs in use from " + first.Used + " to " + last.Used + ", workloads that wait from " + strconv.Itoa(first.Waits) + " to " + strconv.Itoa(last.Waits)
	return c
}

// ratio is n of most, of 150.
func ratio(n, most int64) int64 {
	if most <= 0 {
		return 0
	}
	return min(150, 150*n/most)
}
