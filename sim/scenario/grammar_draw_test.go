package scenario

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
)

// A dice gives a number from 0 to below n.
type dice func(n int) int

// fromBytes throws what the bytes say, and 0 when they have run out.
func fromBytes(data []byte) dice {
	return func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
}

func fromSeed(seed uint64) dice { return rand.New(rand.NewPCG(seed, 0)).IntN }

func fromRapid(t *rapid.T) dice {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

// vocabulary is what most texts of a production are drawn from, so that names
// meet and numbers are of use.
var vocabulary = map[string][]string{
	"bare":      {"n0", "n1", "n2", "q", "d/p", "rack", "H100", "x", "low", "g"},
	"quoted":    {`"n0"`, `"a b"`, `""`, `"none"`},
	"plain":     {"w0", "w1", "w2", "w3"},
	"prefix":    {"n"},
	"nameRange": {"n0..n2", "n1..n2", "0..2"},
	"oneWork":   {"w0", "w1", "q/w2", "d/p/w3", "q/w0..w1", "w9"},
	"digits":    {"0", "1", "2", "3", "4", "8", "2", "1", "0", "5000000000", "99999999999999999999"},
	"decimal":   {"0", "1", "2", "0.5", "1.5", "3", "60", "-1", "0.0001", "9223372036854775807"},
	"moment":    {"2000-01-01T00:01:00Z", "2026-11-20T12:00:00.5+01:00", "2026-02-30T00:00:00Z"},
	"sp":        {" "},
	"comment":   {"# why"},
	"name":      {"n0", "n1", "n2", "q", "r", "d/p", "rack", "H100", "x", "low", "g", `"a b"`},
}

// A drawing is a text while it is drawn from the grammar.
type drawing struct {
	grammar *grammarOf
	dice    dice
	text    strings.Builder
	used    map[int]bool // the nodes of which a text has been drawn
}

func (g *grammarOf) drawing(d dice) *drawing {
	return &drawing{grammar: g, dice: d, used: map[int]bool{}}
}

// draw appends a text of the node. Repetitions are up to three long; as no
// production leads back to itself, the depth is bounded.
func (d *drawing) draw(n *grammarNode) {
	d.used[n.id] = true
	switch n.kind {
	case literal:
		d.text.WriteString(n.text)
	case characters:
		c := n.low + rune(d.dice(int(n.high-n.low)+1))
		if !utf8.ValidRune(c) {
			c = n.high
		}
		d.text.WriteRune(c)
	case production:
		if words := vocabulary[n.name]; words != nil && d.dice(8) > 0 {
			d.text.WriteString(words[d.dice(len(words))])
			return
		}
		d.draw(n.kids[0])
	case sequence:
		for _, kid := range n.kids {
			d.draw(kid)
		}
	case alternative:
		d.draw(n.kids[d.dice(len(n.kids))])
	case option:
		if d.dice(2) > 0 {
			d.draw(n.kids[0])
		}
	case repetition:
		for range d.dice(4) {
			d.draw(n.kids[0])
		}
	}
}

// drawText is a text of the production.
func (g *grammarOf) drawText(d dice, production string) string {
	drawn := g.drawing(d)
	drawn.draw(g.productions[production])
	return drawn.text.String()
}

// TestVocabulary: the words are of their productions, and texts that are drawn are
// recognised, reach every alternative of the grammar, and are the same for the same
// seed.
func TestVocabulary(t *testing.T) {
	g := theGrammar(t)
	for _, name := range sortedKeys(vocabulary) {
		for _, text := range vocabulary[name] {
			if !newRecogniser(text).matches(g.productions[name]) {
				t.Errorf("%s is no %s", text, name)
			}
		}
	}
	used := map[int]bool{}
	for seed := range uint64(3000) {
		d := g.drawing(fromSeed(seed))
		d.draw(g.productions["Text"])
		for id := range d.used {
			used[id] = true
		}
		text := d.text.String()
		if seed >= 300 {
			continue
		}
		if again := g.drawText(fromSeed(seed), "Text"); again != text {
			t.Fatalf("seed %d draws\n%s\nthen\n%s", seed, text, again)
		}
		if r := newRecogniser(text); !r.matches(g.productions["Text"]) {
			t.Fatalf("seed %d is not recognised: %s\n%s", seed, r.where(), text)
		}
	}
	for _, name := range sortedKeys(g.productions) {
		if n := g.productions[name]; !used[n.id] {
			t.Errorf("no %s is drawn", name)
		}
	}
	if len(used) < g.nodes*99/100 {
		t.Errorf("only %d of the %d expressions of the grammar are drawn", len(used), g.nodes)
	}
}

// contextual are the reasons for which the reader may refuse what has the form that
// the grammar gives: something is not there, or said twice, or where it has no
// sense, or a number is in no range. None of them is about the form.
var contextual = regexp.MustCompile(strings.Join([]string{
	`^there is no `, `^there is a workload `, `^there are several pools: `, `^workload ".*" (is in queue|has no|has more than)`,
	`^node ".*" has (no device|not the devices)`, `^no node takes task`, `^every task of `, `^places are for one workload$`,
	` is given twice$`, ` needs a solve before it$`, `^(apply|begin): .*plan does not match the state`, `^the plan has no action `, `^the forms of a workload do not change$`,
	`^queue= stands behind 'or'$`, ` of a workload that exists takes no argument `, ` is neither an argument nor a class of the policy$`,
	`out of range$`, `: finer than the unit$`, `: too many decimals$`, ` is no range$`,
	` parsing time ".*": (month|day|hour|minute|second|time zone offset \w+) out of range$`,
	// A key of nodes that is the name of no level.
	`^nodes takes no argument `,
	// The word is a name too.
	`^on needs a place$`,
}, "|"))

// tellsWhere fails unless the error is of the text: with its line, its column and a
// reason.
func tellsWhere(t fataler, text string, err error) *Error {
	var located *Error
	lines := strings.Split(text, "\n")
	switch {
	case !errors.As(err, &located):
		t.Fatalf("error %v of\n%s", err, text)
	case located.Line < 1 || located.Line > len(lines) || located.Message == "":
		t.Fatalf("error %v of\n%s", err, text)
	case located.Column < 1 || located.Column > max(1, len(lines[located.Line-1])):
		t.Fatalf("error %v of\n%s", err, text)
	}
	return located
}

// A fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, values ...any)
}

// readsOrRefuses holds the reader to the grammar for one text that it gives.
func readsOrRefuses(t fataler, text string) (*allot.State, *Error) {
	t.Helper()
	state, err := State(text)
	if err != nil {
		located := tellsWhere(t, text, err)
		if !contextual.MatchString(located.Message) {
			t.Fatalf("%v, though the grammar has\n%s", err, text)
		}
		return nil, located
	}
	if allot.Check(state) != nil {
		return state, nil
	}
	again, err := State(Format(state))
	if err != nil {
		t.Fatalf("%v in\n%s\nfrom\n%s", err, Format(state), text)
	}
	if Format(again) != Format(state) {
		t.Fatalf("read back as\n%s\nof\n%s\nfrom\n%s", Format(again), Format(state), text)
	}
	return state, nil
}

// prelude is a cluster with names of the vocabulary.
const prelude = "levels rack\nnodes n0..n2 gpu=4 cpu=8 rack=x\nqueue q quota=4 | queue d | queue d/p\nsubmit q/w9 gpu=1\n"

// TestDrawnStatements: every expression that statements are made of is drawn, most
// of them often, and the statement is read, or refused for no reason of form. Some
// must be read.
func TestDrawnStatements(t *testing.T) {
	g := theGrammar(t)
	read := map[string]int{}
	const seeds = 6000
	for seed := range uint64(seeds) {
		text := g.drawText(fromSeed(seed), "Statement")
		if _, refused := readsOrRefuses(t, prelude+"solve quiet\n"+text); refused == nil {
			read[strings.Fields(text)[0]]++
		}
	}
	total := 0
	for _, n := range read { // a sum: the order cannot matter
		total += n
	}
	t.Logf("%d of %d statements are read: %v", total, seeds, read)
	for _, kid := range []string{"nodes", "queue", "policy", "submit", "run", "solve"} {
		if read[kid] == 0 {
			t.Errorf("no statement %s was read", kid)
		}
	}
	if total < seeds/4 {
		t.Errorf("only %d of %d statements are read", total, seeds)
	}
}

// grow is a text that the reader takes, of statements drawn one after the other:
// those that it refuses are left out again.
func grow(t fataler, g *grammarOf, d dice, statements int) string {
	text := prelude
	for range statements {
		more := text + g.drawText(d, "Statement") + "\n"
		if _, refused := readsOrRefuses(t, more); refused == nil {
			text = more
		}
	}
	return text
}

// TestDrawnTexts: a text of the grammar is read, or refused where and for a reason
// that is not its form; what is read and valid comes back from Format. What such a
// scenario prints is in the grammar too.
func TestDrawnTexts(t *testing.T) {
	g := theGrammar(t)
	rapid.Check(t, func(t *rapid.T) {
		d := fromRapid(t)
		readsOrRefuses(t, g.drawText(d, "Text"))
		text := grow(t, g, d, 6)
		printsGrammar(t, g, text+"solve waits shares\nreasons\nstate\n----\n")
	})
}

// printsGrammar fails unless the scenario, with what it prints, is of the grammar.
func printsGrammar(t fataler, g *grammarOf, text string) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		tellsWhere(t, text, err)
		return
	}
	outputs, err := Run(s, Options{SkipLaws: true})
	if err != nil {
		tellsWhere(t, text, err)
		return
	}
	text = s.Rewrite(outputs)
	if r := newRecogniser(text); !r.matches(g.productions["Text"]) {
		t.Fatalf("the reader takes what is not of the grammar: %s\n%q\n%s", r.where(), text, text)
	}
}

// TestReaderRefuses: what the grammar does not have, the reader refuses: of texts
// with some characters taken out, put in or exchanged.
func TestReaderRefuses(t *testing.T) {
	g := theGrammar(t)
	files := scenarioFiles(t)
	names := slices.DeleteFunc(sortedKeys(files), func(name string) bool { return len(files[name]) > 1500 })
	rapid.Check(t, func(t *rapid.T) {
		d := fromRapid(t)
		text := files[rapid.SampledFrom(names).Draw(t, "file")]
		if d(2) == 0 {
			text = grow(t, g, d, 4)
		}
		for range 1 + d(3) {
			text = mutate(d, text)
		}
		printsGrammar(t, g, text)
	})
}

// mutate changes one place of the text, mostly where something is parted.
func mutate(d dice, text string) string {
	const signs = " \t\r\n|#\"\\,:=@[]()/.*-+0129axTnone_\x00\x80é"
	var parted []int
	for at := range len(text) {
		if strings.IndexByte(" \n,:=@[]./-\"", text[at]) >= 0 {
			parted = append(parted, at)
		}
	}
	at := d(len(text) + 1)
	if len(parted) > 0 && d(4) > 0 {
		at = parted[d(len(parted))] + d(2)
	}
	sign := string(signs[d(len(signs))])
	switch end := min(at+1, len(text)); d(4) {
	case 0:
		return text[:at] + text[end:]
	case 1:
		return text[:at] + sign + text[end:]
	case 2: // a word twice
		word := text[at:]
		if stop := strings.IndexAny(word[min(1, len(word)):], " \n"); stop >= 0 {
			word = word[:stop+1]
		}
		return text[:at] + word + text[at:]
	default:
		return text[:at] + sign + text[at:]
	}
}

// TestFormatConforms: what Format writes is of the grammar, whatever the state.
func TestFormatConforms(t *testing.T) {
	g := theGrammar(t)
	rapid.Check(t, func(t *rapid.T) {
		state := drawState(t)
		text := Format(&state)
		if r := newRecogniser(text); !r.matches(g.productions["Text"]) {
			t.Fatalf("%s\n%s", r.where(), text)
		}
	})
}

// FuzzGrammar draws a text by the bytes: it is read, or refused where and why.
func FuzzGrammar(f *testing.F) {
	g := theGrammar(f)
	f.Add([]byte(nil))
	f.Add([]byte("a text of the grammar by bytes"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := fromBytes(data[:min(len(data), 2000)])
		readsOrRefuses(t, g.drawText(d, "Text"))
		grow(t, g, d, 6)
	})
}

// FuzzText reads any text: it is refused where and why, or it is of the grammar.
func FuzzText(f *testing.F) {
	g := theGrammar(f)
	files := scenarioFiles(f)
	for _, name := range sortedKeys(files) {
		if len(files[name]) < 600 {
			f.Add(files[name])
		}
	}
	// A range of a million names is read, but takes its time.
	large := regexp.MustCompile(`\d{4}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 2000 && !large.MatchString(text) {
			printsGrammar(t, g, text)
		}
	})
}
