package scenario

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/exp/ebnf"
)

// A grammarNode is an expression of the grammar in the form in which texts are
// recognised by it and drawn from it.
type grammarNode struct {
	kind grammarKind
	id   int
	name string         // of a production
	text string         // of a literal
	low  rune           // of a range
	high rune           // of a range
	kids []*grammarNode // of a production, of all but a literal and a range
	// What a text of the node may begin with: the ASCII characters, others, and
	// that it may be empty.
	first [2]uint64
	other bool
	empty bool
	ready bool // the three are known
}

type grammarKind uint8

const (
	literal grammarKind = iota
	characters
	sequence
	alternative
	option
	repetition
	production
)

// A grammarOf is the compiled grammar.
type grammarOf struct {
	productions map[string]*grammarNode
	nodes       int
}

// theGrammar is the grammar of the package, well-formed.
func theGrammar(t testing.TB) *grammarOf {
	read, err := ebnf.Parse("grammar.ebnf", strings.NewReader(Grammar()))
	if err != nil {
		t.Fatal(err)
	}
	if err := ebnf.Verify(read, "Text"); err != nil {
		t.Fatal(err)
	}
	return compile(read)
}

func compile(read ebnf.Grammar) *grammarOf {
	g := &grammarOf{productions: map[string]*grammarNode{}}
	for _, name := range sortedKeys(read) {
		g.productions[name] = g.node(grammarNode{kind: production, name: name})
	}
	for _, name := range sortedKeys(read) {
		g.productions[name].kids = []*grammarNode{g.expression(read[name].Expr)}
	}
	for _, name := range sortedKeys(read) {
		g.productions[name].begin()
	}
	return g
}

func (g *grammarOf) node(n grammarNode) *grammarNode {
	n.id = g.nodes
	g.nodes++
	return &n
}

func (g *grammarOf) expression(e ebnf.Expression) *grammarNode {
	many := func(kind grammarKind, list ...ebnf.Expression) *grammarNode {
		n := g.node(grammarNode{kind: kind})
		for _, kid := range list {
			n.kids = append(n.kids, g.expression(kid))
		}
		return n
	}
	switch e := e.(type) {
	case ebnf.Alternative:
		return many(alternative, e...)
	case ebnf.Sequence:
		return many(sequence, e...)
	case *ebnf.Group:
		return many(sequence, e.Body)
	case *ebnf.Option:
		return many(option, e.Body)
	case *ebnf.Repetition:
		return many(repetition, e.Body)
	case *ebnf.Name:
		return g.productions[e.String]
	case *ebnf.Token:
		return g.node(grammarNode{kind: literal, text: e.String})
	case *ebnf.Range:
		low, _ := utf8.DecodeRuneInString(e.Begin.String)
		high, _ := utf8.DecodeRuneInString(e.End.String)
		return g.node(grammarNode{kind: characters, low: low, high: high})
	}
	panic("an expression of an unknown kind")
}

// begin finds what a text of the node may begin with. It ends only because no
// production leads back to itself.
func (n *grammarNode) begin() {
	if n.ready {
		return
	}
	n.ready = true
	join := func(kid *grammarNode) {
		n.first[0] |= kid.first[0]
		n.first[1] |= kid.first[1]
		n.other = n.other || kid.other
	}
	for _, kid := range n.kids {
		kid.begin()
	}
	switch n.kind {
	case literal:
		n.add(rune(n.text[0]))
	case characters:
		for c := n.low; c <= n.high && c < utf8.RuneSelf; c++ {
			n.add(c)
		}
		n.other = n.high >= utf8.RuneSelf
	case sequence, production:
		n.empty = true
		for _, kid := range n.kids {
			if n.empty {
				join(kid)
			}
			n.empty = n.empty && kid.empty
		}
	default:
		n.empty = n.kind != alternative
		for _, kid := range n.kids {
			join(kid)
			n.empty = n.empty || kid.empty
		}
	}
}

func (n *grammarNode) add(c rune) { n.first[c/64] |= 1 << (c % 64) }

// A recogniser finds out whether a text is one of a production, by memory of where
// the texts of a node that begin somewhere may end.
type recogniser struct {
	text     string
	ends     map[[2]int][]int // by node and beginning
	failed   map[[4]int]bool  // by node, kid, beginning and end: no derivation
	used     map[string]int   // how often the derivation uses a production
	furthest int              // how far a literal or a character has been found
}

func newRecogniser(text string) *recogniser {
	return &recogniser{text: text, ends: map[[2]int][]int{}, failed: map[[4]int]bool{}, used: map[string]int{}}
}

// matches reports whether the whole text is one of the production.
func (r *recogniser) matches(n *grammarNode) bool {
	return slices.Contains(r.from(n, 0), len(r.text))
}

// from is where the texts of the node that begin at 'at' may end, without order.
func (r *recogniser) from(n *grammarNode, at int) []int {
	if !n.mayBegin(r.text, at) {
		return nil
	}
	switch n.kind {
	case literal:
		if strings.HasPrefix(r.text[at:], n.text) {
			return []int{r.reach(at + len(n.text))}
		}
		return nil
	case characters:
		c, size := utf8.DecodeRuneInString(r.text[at:])
		if size > 0 && n.low <= c && c <= n.high && (c != utf8.RuneError || size > 1) {
			return []int{r.reach(at + size)}
		}
		return nil
	}
	key := [2]int{n.id, at}
	if known, ok := r.ends[key]; ok {
		return known
	}
	found := r.search(n, at)
	r.ends[key] = found
	return found
}

// mayBegin is false only where the text at 'at' cannot begin one of the node.
func (n *grammarNode) mayBegin(text string, at int) bool {
	switch {
	case n.empty:
		return true
	case at == len(text):
		return false
	case text[at] >= utf8.RuneSelf:
		return n.other
	}
	return n.first[text[at]/64]&(1<<(text[at]%64)) != 0
}

func (r *recogniser) reach(at int) int {
	r.furthest = max(r.furthest, at)
	return at
}

func (r *recogniser) search(n *grammarNode, at int) []int {
	found := []int{at}
	switch n.kind {
	case sequence, production:
		for _, kid := range n.kids {
			var next []int
			for _, middle := range found {
				next = union(next, r.from(kid, middle))
			}
			found = next
		}
	case alternative:
		found = nil
		for _, kid := range n.kids {
			found = union(found, r.from(kid, at))
		}
	case option:
		found = union(found, r.from(n.kids[0], at))
	case repetition:
		for i := 0; i < len(found); i++ { // union appends
			found = union(found, r.from(n.kids[0], found[i]))
		}
	}
	return found
}

// union appends what is not yet in the list.
func union(list, more []int) []int {
	if len(list) == 0 {
		return slices.Clone(more)
	}
	for _, at := range more {
		if !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// derive counts the productions of one derivation of text[at:end] from the node,
// the first in the order in which the grammar lists alternatives; false if there
// is none.
func (r *recogniser) derive(n *grammarNode, at, end int) bool {
	if !slices.Contains(r.from(n, at), end) {
		return false
	}
	switch n.kind {
	case production:
		r.used[n.name]++
		return r.derive(n.kids[0], at, end)
	case sequence:
		return r.deriveFrom(n, 0, at, end)
	case alternative:
		return slices.ContainsFunc(n.kids, func(kid *grammarNode) bool { return r.derive(kid, at, end) })
	case option:
		return at == end || r.derive(n.kids[0], at, end)
	case repetition:
		return at == end || r.deriveFrom(n, 0, at, end)
	}
	return true
}

// deriveFrom derives the kids of a sequence from that one on, or a repetition. It
// counts only what has come out: first the rest, then the kid.
func (r *recogniser) deriveFrom(n *grammarNode, kid, at, end int) bool {
	repeated := n.kind == repetition
	if kid == len(n.kids) || repeated && at == end {
		return at == end
	}
	key := [4]int{n.id, kid, at, end}
	if r.failed[key] {
		return false
	}
	next := kid + 1
	if repeated {
		next = 0
	}
	for _, middle := range r.from(n.kids[kid], at) {
		if middle > end || repeated && middle == at {
			continue
		}
		if r.deriveFrom(n, next, middle, end) {
			return r.derive(n.kids[kid], at, middle)
		}
	}
	r.failed[key] = true
	return false
}
