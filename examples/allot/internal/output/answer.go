package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Format is a form in which an answer is written.
type Format string

// The formats: text for people, wider text with more columns, and the data for tools.
const (
	Text Format = "text"
	Wide Format = "wide"
	JSON Format = "json"
	YAML Format = "yaml"
)

// Formats are all of them.
func Formats() []Format { return []Format{Text, Wide, JSON, YAML} }

// String and Set and Type make a Format the value of a flag. Set refuses what is no
// format and lists those that are.
func (f *Format) String() string { return string(*f) }

// Set takes the text of a format.
func (f *Format) Set(text string) error {
	var names []string
	for _, known := range Formats() {
		if string(known) == text {
			*f = known
			return nil
		}
		names = append(names, string(known))
	}
	return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
}

// Type names the kind of value in a usage.
func (f *Format) Type() string { return "format" }

// An Answer is what a command found out.
type Answer interface {
	// Write puts it on a page for people. The first line is the answer in short.
	Write(p *Page)
	// Data is the same for tools: a value that has JSON.
	Data() any
}

// A Form says how an answer is written.
type Form struct {
	Format Format
	// Colour and Verbose are those of a [Page].
	Colour, Verbose bool
}

// Write writes the answer.
func (f Form) Write(w io.Writer, a Answer) error {
	var text []byte
	var err error
	switch f.Format {
	case JSON:
		text, err = Indented(a.Data())
	case YAML:
		text, err = AsYAML(a.Data())
	default:
		p := Page{Commands: true, Colour: f.Colour, Wide: f.Format == Wide, Verbose: f.Verbose}
		a.Write(&p)
		text = p.Bytes()
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Indented is a value as JSON in lines.
func Indented(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// AsYAML is the JSON of a value as YAML: the same fields in the same order.
func AsYAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	block(&tree)
	return Lines(&tree)
}

// Lines writes a tree of YAML.
func Lines(tree *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(tree); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// block takes the look of JSON from a tree: what YAML need not quote or put between
// braces stands plain.
func block(n *yaml.Node) {
	n.Style = 0
	for _, below := range n.Content {
		block(below)
	}
}
