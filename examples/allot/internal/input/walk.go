package input

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/internal/jsonform"
)

// A walker turns a tree of YAML into the exact JSON of a form.
type walker struct {
	out bytes.Buffer
	// exact: bare numbers are in base units.
	exact bool
	// faults are what the walker itself refuses; what the library refuses it only
	// hands on.
	faults []allot.Fault
	// path is where in the JSON the walker is; places are the lines of the places that
	// it has been to, of those that are wanted, or of all if all is set.
	path   jsonform.Path
	wanted map[string]bool
	all    bool
	places map[string]int
	// left is how many more values an unfolding document may have.
	left int
	full bool
}

// The limits of what is read.
const (
	// MaxFile is the size of a file in the exact form, MaxYAML that of any other,
	// in bytes.
	MaxFile = 256 << 20
	MaxYAML = 24 << 20
	// maxSeparators is how much that parts values a document of YAML may have.
	maxSeparators = 2 << 20
	// maxValues is how many values a document may have, and maxJSON how many bytes
	// of JSON it may make, after its aliases were followed. Of a short document it is
	// fewer: valuesOf.
	maxValues = 2 << 20
	maxJSON   = 64 << 20
	// maxDepth is how deep values may lie in each other.
	maxDepth = 100
	// maxDevices is how many devices may be said by a number: more than a node may
	// have is the library's to refuse.
	maxDevices = 65
)

// valuesOf is how many values a document of so many bytes may have: what aliases unfold
// to is in proportion, so that a few lines do not take minutes.
func valuesOf(bytes int) int { return min(maxValues, 256<<10+8*bytes) }

// fault notes something that is wrong where the walker is.
func (w *walker) fault(code allot.FaultCode, value, want string) {
	w.faults = append(w.faults, allot.Fault{Path: w.path.String(), Code: code, Value: value, Want: want})
}

// under walks what lies one step below.
func (w *walker) under(s jsonform.Step, walk func()) {
	w.path = append(w.path, s)
	walk()
	w.path = w.path[:len(w.path)-1]
}

func field(name string) jsonform.Step { return jsonform.Step{Name: name, Index: jsonform.IsField} }
func entry(name string) jsonform.Step { return jsonform.Step{Name: name, Index: jsonform.IsKey} }
func at(index int) jsonform.Step      { return jsonform.Step{Index: index} }

// spend counts values, and says whether there may be so many.
func (w *walker) spend(values int) bool {
	w.left -= values
	if w.left >= 0 && w.out.Len() <= maxJSON && len(w.path) <= maxDepth {
		return true
	}
	if !w.full {
		w.full = true
		w.fault(allot.FaultTooMany, "", "must not unfold to more than "+strconv.Itoa(maxValues)+" values, nor to many times its size, "+
			strconv.Itoa(maxJSON>>20)+" MiB or "+strconv.Itoa(maxDepth)+" levels")
	}
	return false
}

// enter counts a value and follows an alias. It is nil where there is to be no more.
func (w *walker) enter(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !w.spend(1) {
		return nil
	}
	if w.all || w.wanted != nil {
		if path := w.path.String(); (w.all || w.wanted[path]) && w.places[path] == 0 {
			w.places[path] = n.Line
		}
	}
	return n
}

// value walks a value of a form; m and resource say of what its numbers are.
func (w *walker) value(n *yaml.Node, f *jsonform.Form, m measure, resource string) {
	for f.Kind == jsonform.Pointer {
		f = f.Elem
	}
	if n = w.enter(n); n == nil {
		w.out.WriteString("null")
		return
	}
	switch {
	case f.Kind == jsonform.Object && f.Type == requestType && n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		w.gpuRequest(n)
	case f.Kind == jsonform.Object && f.Type == policyType:
		w.policy(n, f)
	case f.Kind == jsonform.Object && n.Kind == yaml.MappingNode:
		w.object(w.pairs(n), f)
	case f.Kind == jsonform.List && f.Elem.Type == deviceType:
		w.devices(n, f.Elem)
	case f.Kind == jsonform.List && n.Kind == yaml.SequenceNode:
		w.list(n.Content, f.Elem)
	case f.Kind == jsonform.Map && n.Kind == yaml.MappingNode:
		w.out.WriteByte('{')
		for i, p := range w.pairs(n) {
			w.comma(i)
			w.key(p.key.Value)
			w.under(entry(p.key.Value), func() { w.value(p.value, f.Elem, m, p.key.Value) })
		}
		w.out.WriteByte('}')
	case m != bare && n.Kind == yaml.ScalarNode && (f.Kind == jsonform.Int || f.Kind == jsonform.Custom):
		w.amount(n, m, resource, f.Kind == jsonform.Custom)
	case f.Kind == jsonform.String && n.Kind == yaml.ScalarNode && n.Tag == "!!timestamp", f.Kind == jsonform.Time && n.Kind == yaml.ScalarNode && n.Tag == "!!timestamp":
		w.text(n.Value)
	default:
		w.raw(n)
	}
}

var (
	requestType  = reflect.TypeFor[allot.GPURequest]()
	policyType   = reflect.TypeFor[allot.Policy]()
	deviceType   = reflect.TypeFor[allot.Device]()
	resourceType = reflect.TypeFor[allot.QueueResource]()
)

// A pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// pairs are the pairs of a mapping; "<<" brings those of others that the mapping
// does not have itself. A key that stands twice is there twice, for the library to
// refuse.
func (w *walker) pairs(n *yaml.Node) []pair {
	var own, merged []pair
	has := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Tag != "!!merge" {
			own = append(own, pair{key, value})
			has[key.Value] = true
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, other := range from {
			for other.Kind == yaml.AliasNode {
				other = other.Alias
			}
			for j := 0; j+1 < len(other.Content) && other.Kind == yaml.MappingNode && w.left > 0; j += 2 {
				w.left--
				merged = append(merged, pair{other.Content[j], other.Content[j+1]})
			}
		}
	}
	for _, p := range merged {
		if p.key.Tag != "!!merge" && !has[p.key.Value] {
			has[p.key.Value] = true
			own = append(own, p)
		}
	}
	return own
}

// object walks the fields of an object. Fields that the form does not have go on, to be
// refused by the library.
func (w *walker) object(pairs []pair, f *jsonform.Form) {
	resource := ""
	if f.Type == resourceType {
		for _, p := range pairs {
			if p.key.Value == "resource" && p.value.Kind == yaml.ScalarNode {
				resource = p.value.Value
			}
		}
	}
	w.out.WriteByte('{')
	for i, p := range pairs {
		w.comma(i)
		w.key(p.key.Value)
		w.under(field(p.key.Value), func() { w.field(p, f, resource) })
	}
	w.out.WriteByte('}')
}

func (w *walker) field(p pair, f *jsonform.Form, resource string) {
	for i := range f.Fields {
		if f.Fields[i].Name == p.key.Value {
			w.value(p.value, f.Fields[i].Form, measures[f.Type][p.key.Value], resource)
			return
		}
	}
	switch n := w.enter(p.value); {
	case n == nil:
		w.out.WriteString("null")
	case n.Kind == yaml.MappingNode: // what is refused need not be unfolded
		w.out.WriteString("{}")
	case n.Kind == yaml.SequenceNode:
		w.out.WriteString("[]")
	default:
		w.raw(n)
	}
}

func (w *walker) list(entries []*yaml.Node, f *jsonform.Form) {
	w.out.WriteByte('[')
	for i, below := range entries {
		w.comma(i)
		w.under(at(i), func() { w.value(below, f, bare, "") })
	}
	w.out.WriteByte(']')
}

// devices walks the devices of a node: a list, a number of them, or a list in which
// an entry says how many are like it.
func (w *walker) devices(n *yaml.Node, f *jsonform.Form) {
	var entries []*yaml.Node
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!int":
		w.out.WriteByte('[')
		if alike := w.count(n); w.spend(alike) { // each is a value
			for i := range alike {
				w.comma(i)
				w.out.WriteString("{}")
			}
		}
		w.out.WriteByte(']')
		return
	case n.Kind == yaml.MappingNode:
		entries = []*yaml.Node{n}
	case n.Kind == yaml.SequenceNode:
		entries = n.Content
	default:
		w.raw(n)
		return
	}
	w.out.WriteByte('[')
	made := 0
	for _, below := range entries {
		for below.Kind == yaml.AliasNode {
			below = below.Alias
		}
		alike, pairs := 1, w.pairs(below)
		for i, p := range pairs {
			if below.Kind == yaml.MappingNode && p.key.Value == "count" {
				w.under(at(made), func() { w.under(field("count"), func() { alike = w.count(p.value) }) })
				pairs = append(pairs[:i:i], pairs[i+1:]...)
				break
			}
		}
		for range alike {
			w.comma(made)
			w.under(at(made), func() {
				if below.Kind != yaml.MappingNode {
					w.value(below, f, bare, "")
				} else if w.enter(below) != nil {
					w.object(pairs, f)
				} else {
					w.out.WriteString("null")
				}
			})
			made++
		}
	}
	w.out.WriteByte(']')
}

// count is a number of devices, bounded.
func (w *walker) count(n *yaml.Node) int {
	var count int
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&count) != nil || count < 0 || count > maxDevices {
		w.fault(allot.FaultRange, n.Value, "must be a number of devices, 0 to "+strconv.Itoa(maxDevices-1))
		return 0
	}
	return count
}

// amount walks a number or text that is an amount.
func (w *walker) amount(n *yaml.Node, m measure, resource string, bound bool) {
	if n.Tag == "!!null" || bound && n.Value == "unlimited" {
		w.raw(n)
		return
	}
	number := n.Tag == "!!int" || n.Tag == "!!float"
	if !number && n.Tag != "!!str" || number && w.exact {
		w.raw(n)
		return
	}
	kind, _ := m.kind(resource)
	text := n.Value
	if n.Tag == "!!int" {
		text = plainInt(n)
	}
	amount, err := kind.Parse(text)
	if err != nil {
		w.fault(allot.FaultFormat, quoted(n), err.Error())
		w.out.WriteString("0")
		return
	}
	w.out.WriteString(strconv.FormatInt(amount, 10))
}

// plainInt is a whole number in decimal digits, however it is written.
func plainInt(n *yaml.Node) string {
	var value int64
	if n.Decode(&value) != nil {
		return n.Value
	}
	return strconv.FormatInt(value, 10)
}

// quoted is what stands there, as a fault says it.
func quoted(n *yaml.Node) string {
	text := n.Value
	if len(text) > 40 {
		text = text[:40] + "…"
	}
	if n.Tag == "!!str" {
		return strconv.Quote(text)
	}
	return text
}

// gpuRequest walks what a task asks of GPUs in a word: devices, a part of one, or
// memory of one.
func (w *walker) gpuRequest(n *yaml.Node) {
	text := n.Value
	if n.Tag == "!!int" {
		text = plainInt(n)
	}
	if bytes, err := units.Of(allot.Memory).Parse(text); err == nil && n.Tag == "!!str" && strings.ContainsAny(text, "KMGTPEB") && !strings.Contains(text, "PU") {
		w.out.WriteString(`{"memory":` + strconv.FormatInt(bytes, 10) + `}`)
		return
	}
	milli, err := units.Of(allot.GPU).Parse(text)
	switch {
	case err != nil:
		w.fault(allot.FaultFormat, quoted(n), err.Error()+"; or an amount of memory such as 40Gi")
		w.out.WriteString("{}")
	case milli%1000 == 0:
		w.out.WriteString(`{"count":` + strconv.FormatInt(milli/1000, 10) + `}`)
	case milli > 0 && milli < 1000:
		w.out.WriteString(`{"milli":` + strconv.FormatInt(milli, 10) + `}`)
	default:
		w.fault(allot.FaultRange, quoted(n), "must be a number of whole GPUs or a part of one: a part of each of several is count and milli")
		w.out.WriteString("{}")
	}
}

// policy walks a policy: its fields, the name of a preset, or a preset with fields
// above it.
func (w *walker) policy(n *yaml.Node, f *jsonform.Form) {
	var pairs []pair
	name := ""
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!str" {
			w.raw(n)
			return
		}
		name = n.Value
	case yaml.MappingNode:
		for _, p := range w.pairs(n) {
			if p.key.Value == "preset" && p.value.Kind == yaml.ScalarNode {
				name = p.value.Value
				continue
			}
			pairs = append(pairs, p)
		}
	default:
		w.raw(n)
		return
	}
	if name == "" {
		w.object(pairs, f)
		return
	}
	preset, err := Preset(name)
	if err != nil {
		w.fault(allot.FaultUnknownValue, strconv.Quote(name), err.Error())
		w.out.WriteString("{}")
		return
	}
	w.object(append(w.below(preset, pairs), pairs...), f)
}

// below are the fields of a preset that the pairs do not say otherwise, as if they
// had been written. What of them is an amount is a time, in seconds, which both forms
// say alike.
func (w *walker) below(preset allot.Policy, pairs []pair) []pair {
	text, err := policyJSON(preset)
	var tree yaml.Node
	if err != nil || yaml.Unmarshal(text, &tree) != nil || len(tree.Content) == 0 {
		return nil
	}
	said := make(map[string]bool)
	for _, p := range pairs {
		said[p.key.Value] = true
	}
	var out []pair
	for _, p := range w.pairs(tree.Content[0]) {
		if !said[p.key.Value] {
			out = append(out, p)
		}
	}
	return out
}

// comma parts entries.
func (w *walker) comma(i int) {
	if i > 0 {
		w.out.WriteByte(',')
	}
}

func (w *walker) key(name string) {
	w.text(name)
	w.out.WriteByte(':')
}

// text writes a string.
func (w *walker) text(s string) {
	quoted, _ := json.Marshal(s) // a string always has JSON
	w.out.Write(quoted)
}

// raw writes a tree as the JSON that is nearest to it, for the library to judge.
func (w *walker) raw(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		w.out.WriteByte('{')
		for i, p := range w.pairs(n) {
			w.comma(i)
			w.key(p.key.Value)
			w.under(field(p.key.Value), func() { w.rawBelow(p.value) })
		}
		w.out.WriteByte('}')
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, below := range n.Content {
			w.comma(i)
			w.under(at(i), func() { w.rawBelow(below) })
		}
		w.out.WriteByte(']')
	default:
		w.scalar(n)
	}
}

func (w *walker) rawBelow(n *yaml.Node) {
	if n = w.enter(n); n != nil {
		w.raw(n)
	} else {
		w.out.WriteString("null")
	}
}

// scalar writes a single value.
func (w *walker) scalar(n *yaml.Node) {
	switch n.Tag {
	case "!!null":
		w.out.WriteString("null")
	case "!!bool":
		w.out.WriteString(strings.ToLower(n.Value))
	case "!!int":
		w.number(plainInt(n))
	case "!!float":
		w.number(n.Value)
	default:
		w.text(n.Value)
	}
}

// number writes a number that JSON has, and any other as a text.
func (w *walker) number(text string) {
	if json.Valid([]byte(text)) && text != "" && text[0] != '"' {
		w.out.WriteString(text)
		return
	}
	w.text(text)
}
