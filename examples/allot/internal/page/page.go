// Package page is what all pages of the program have in common: their colours, the
// script that searches and sorts, and the policy by which a browser runs that script
// and no other, and fetches nothing from anywhere.
//
// A page is one file. What a state holds reaches it through html/template alone, so
// that it is text wherever it stands. Without the script a page shows all that it
// shows with it; the script adds a field to search, and heads of tables that sort.
//
// The same page has the same bytes: there is no clock and no chance in it.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strings"
)

//go:embed page.css
var css string

//go:embed find.js
var find string

//go:embed parts.html
var parts string

// Template is a page of its text, in which "head" with .Title, "nav" with .Nav, "told" with
// .Text and "links" with .Links are parts that pages have in common, and style, script and lines
// are [Style], [Script] and [Lines]. The page says its own policy where the function policy
// says one, which without one of its own says none.
func Template(name, text string, own template.FuncMap) *template.Template {
	return template.Must(template.Must(template.New(name).Funcs(template.FuncMap{
		"style": Style, "script": Script, "lines": Lines, "policy": func() string { return "" },
	}).Funcs(own).Parse(parts)).Parse(text))
}

// Style is the sheet of all pages.
func Style() template.CSS { return template.CSS(strings.TrimSpace(css)) }

// Script searches and sorts.
func Script() template.JS { return template.JS(trimmed(find)) }

// Policy is the Content-Security-Policy of a page that holds the scripts: no other
// script runs, and nothing is fetched. Forms go to the server of the page.
func Policy(scripts ...template.JS) string {
	allowed := "'none'"
	for i, s := range scripts {
		sum := sha256.Sum256([]byte(s))
		if i == 0 {
			allowed = ""
		}
		allowed += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; script-src " + strings.TrimSpace(allowed)
}

// Render makes a page of a template.
func Render(t *template.Template, data any) ([]byte, error) {
	var all bytes.Buffer
	if err := t.Execute(&all, data); err != nil {
		return nil, err
	}
	return all.Bytes(), nil
}

// RenderTight is [Render] without the spaces around lines and the blank lines that the
// parts of a template leave behind which only steer: for pages without a pre or textarea,
// in which those say something.
func RenderTight(t *template.Template, data any) ([]byte, error) {
	all, err := Render(t, data)
	return []byte(trimmed(string(all))), err
}

// trimmed is a text without what stands at the ends of its lines and without blank
// ones.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// A Link is a place in the row of links at the head of a page. Here is the page
// itself.
type Link struct {
	Text, Href string
	Here       bool
}

// A Line is a line of a text of the library. A line of a table keeps its form; any other
// may be broken where there is no room.
type Line struct {
	Text  string
	Table bool
	// Indent is how many spaces stand before it, up to 12.
	Indent int
}

// Lines are those of a text.
func Lines(text string) []Line {
	var out []Line
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		content := strings.TrimLeft(line, " ")
		l := Line{Text: content, Indent: min(len(line)-len(content), 12)}
		if l.Table = strings.Contains(content, "  ") && !strings.Contains(content, ": "); l.Table {
			l.Text = line
		}
		out = append(out, l)
	}
	return out
}
