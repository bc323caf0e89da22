package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// preset is the policy of that name.
func preset(name string) (allot.Policy, error) {
	switch name {
	case "osmo":
		return allot.OSMO(), nil
	case "runai":
		return allot.RunAI(), nil
	case "runai20":
		return allot.RunAI20(), nil
	case "determined-fair-share":
		return allot.DeterminedFairShare(), nil
	case "determined-priority":
		return allot.DeterminedPriority(), nil
	case none:
		return allot.Policy{}, nil
	}
	return allot.Policy{}, fmt.Errorf("no preset %q", name)
}

// defaultPool is the pool that a policy statement makes where there is none.
const defaultPool = "default"

// runPolicy changes the policy of a pool, knob by knob.
func (w *world) runPolicy(st statement) error {
	args, err := arguments(st.args)
	if err != nil {
		return err
	}
	target, args, err := w.targetPolicy(st, args)
	if err != nil {
		return err
	}
	for _, a := range args {
		if err := readKnob(target, a); err != nil {
			return err
		}
	}
	return nil
}

// targetPolicy is the policy that a statement is about, and its other arguments.
func (w *world) targetPolicy(st statement, args []arg) (*allot.Policy, []arg, error) {
	target := w.onlyPolicy()
	if len(args) > 0 && args[0].key == "pool" {
		name, err := read(args[0], unquote)
		if err != nil {
			return nil, nil, err
		}
		p := w.pool(name)
		if p == nil {
			return nil, nil, args[0].errorf("there is no pool %q", name)
		}
		return &p.Policy, args[1:], nil
	}
	if target == nil {
		return nil, nil, st.command.errorf("there are several pools: %s needs pool= as its first argument", st.command.text)
	}
	return target, args, nil
}

// onlyPolicy is the policy of the one pool there is, made where there is
// none; nil if there are several.
func (w *world) onlyPolicy() *allot.Policy {
	if len(w.state.Pools) == 0 {
		w.state.Pools = []allot.Pool{{ID: defaultPool}}
	}
	if len(w.state.Pools) > 1 {
		return nil
	}
	return &w.state.Pools[0].Policy
}

// readKnob reads one argument of a policy. The knobs are the fields of
// allot.Policy by their names in JSON, in kebab case, so that a new one can be
// said from its first day; classes, granules and exit actions, which are lists,
// and what has parts have a form of their own.
func readKnob(p *allot.Policy, a arg) error {
	switch {
	case a.key == "preset":
		return set(p, a, preset)
	case a.key == "class":
		return readClass(p, a)
	case a.key == "exit":
		return a.exitAction(&p.ExitActions)
	case strings.HasPrefix(a.key, "granule."):
		resource, err := unquote(strings.TrimPrefix(a.key, "granule."))
		if err != nil {
			return a.errorf("%v", err)
		}
		granules := map[string]int64{}
		for name, granule := range p.Granules { // into a map: the order cannot matter
			granules[name] = granule
		}
		p.Granules = granules
		return a.amountIn(&p.Granules, resource)
	}
	if known, err := a.minRuntime(&p.MinRuntime); known || err != nil {
		return err
	}
	if known, err := a.durations(&p.Durations); known || err != nil {
		return err
	}
	v, key := reflect.ValueOf(p).Elem(), a.key
	if scoring, ok := strings.CutPrefix(key, scoringPrefix); ok {
		v, key = reflect.ValueOf(&p.Scoring).Elem(), scoring
	}
	if reserve, ok := strings.CutPrefix(key, reservePrefix); ok {
		v, key = reflect.ValueOf(&p.Reserve).Elem(), reserve
	}
	for i := range v.NumField() {
		if knobName(v.Type().Field(i)) == key && isKnob(v.Field(i)) {
			return readField(v.Field(i), a)
		}
	}
	return a.unknown("policy")
}

// scoringPrefix is before the knobs of allot.Scoring.
const scoringPrefix = "scoring."

// readClass reads NAME:PRIORITY[:non-preemptible], a new class or another
// number for one; class=none takes all away.
func readClass(p *allot.Policy, a arg) error {
	if a.value == none {
		p.Classes = nil
		return nil
	}
	class, err := read(a, parseClass)
	if err != nil {
		return err
	}
	p.Classes = slices.Clone(p.Classes)
	at := slices.IndexFunc(p.Classes, func(c allot.Class) bool { return c.Name == class.Name })
	if at < 0 {
		p.Classes = append(p.Classes, class)
	} else {
		p.Classes[at] = class
	}
	return nil
}

func parseClass(text string) (allot.Class, error) {
	var class allot.Class
	name, rest, ok := cut(text, ":")
	if !ok {
		return class, fmt.Errorf("%q is not NAME:PRIORITY", text)
	}
	number, kind, hasKind := cut(rest, ":")
	var err error
	if class.Name, err = unquote(name); err != nil {
		return class, err
	}
	if class.Priority, err = integer[int32](number); err != nil {
		return class, err
	}
	class.NonPreemptible = hasKind
	if hasKind && kind != allot.NonPreemptible.String() {
		return class, fmt.Errorf("%q is not non-preemptible", kind)
	}
	return class, nil
}

// knobName is the field's name in JSON in kebab case.
func knobName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	var kebab strings.Builder
	for i, c := range name {
		// CPUOnly is cpuOnly in JSON and cpu-only here: capitals in a row, as
		// in maxCPUOnlyTasks, are one word.
		if unicode.IsUpper(c) {
			last, next := rune(name[i-1]), rune(0)
			if i+1 < len(name) {
				next = rune(name[i+1])
			}
			if !unicode.IsUpper(last) || unicode.IsLower(next) {
				kebab.WriteByte('-')
			}
		}
		kebab.WriteRune(unicode.ToLower(c))
	}
	return kebab.String()
}

// isKnob reports whether a field is one value: a text, a flag, a number or a
// bound.
func isKnob(field reflect.Value) bool {
	switch field.Addr().Interface().(type) {
	case encoding.TextUnmarshaler, *quota.Bound:
		return true
	}
	switch field.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

func readField(field reflect.Value, a arg) error {
	switch target := field.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		_, err := read(a, func(value string) (struct{}, error) {
			return struct{}{}, target.UnmarshalText([]byte(value))
		})
		return err
	case *quota.Bound:
		if slices.Contains(countKnobs, a.key) {
			return a.bound(target, integer[int64])
		}
		return a.seconds(target)
	}
	switch field.Kind() {
	case reflect.Bool:
		var value bool
		err := a.flag(&value)
		field.SetBool(value)
		return err
	case reflect.String:
		value, err := read(a, unquote)
		field.SetString(value)
		return err
	default:
		value, err := read(a, integer[int64])
		if err == nil && field.OverflowInt(value) {
			return a.errorf("%s: %v", a.key, errRange)
		}
		field.SetInt(value)
		return err
	}
}

// formatPolicy writes a policy as runPolicy reads it onto the zero Policy.
func formatPolicy(pool string, p *allot.Policy) string {
	l := newLine("policy")
	l.add("pool", quote(pool))
	said := len(l.words)
	l.knobs("", reflect.ValueOf(p).Elem())
	l.knobs(scoringPrefix, reflect.ValueOf(&p.Scoring).Elem())
	l.knobs(durationsPrefix, reflect.ValueOf(&p.Durations).Elem())
	l.knobs(reservePrefix, reflect.ValueOf(&p.Reserve).Elem())
	l.minRuntime(p.MinRuntime)
	l.exitActions(p.ExitActions)
	for _, class := range p.Classes {
		text := fmt.Sprintf("%s:%d", quote(class.Name), class.Priority)
		if class.NonPreemptible {
			text += ":" + allot.NonPreemptible.String()
		}
		l.add("class", text)
	}
	for _, resource := range sortedKeys(p.Granules) {
		l.add("granule."+quote(resource), formatAmount(resource, p.Granules[resource]))
	}
	if len(l.words) == said {
		return ""
	}
	return l.String()
}

// knobs writes the fields that are one value.
func (l *line) knobs(prefix string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		if isKnob(field) && !field.IsZero() {
			l.add(prefix+knobName(v.Type().Field(i)), formatField(field))
		}
	}
}

func formatField(field reflect.Value) string {
	switch value := field.Addr().Interface().(type) {
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		if err != nil { // no value that a valid State has
			return strings.TrimSpace(fmt.Sprint(field.Interface()))
		}
		return quote(string(text))
	case *quota.Bound:
		return formatBound(*value, formatInteger)
	}
	switch field.Kind() {
	case reflect.Bool:
		return "yes"
	case reflect.String:
		return quote(field.String())
	default:
		return formatInteger(field.Int())
	}
}
