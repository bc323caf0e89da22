package scenario

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// An arg is one argument of a statement: a key alone or key=value.
type arg struct {
	word
	key   string
	value string
	given bool // there is a '='
}

func newArg(w word) arg {
	key, value, given := cut(w.text, "=")
	return arg{word: w, key: key, value: value, given: given}
}

// unknown is the error of an argument that nobody reads.
func (a arg) unknown(statement string) error {
	return a.errorf("%s takes no argument %q", statement, a.key)
}

// read converts the value of a, and puts an error where the argument stands.
func read[T any](a arg, convert func(string) (T, error)) (T, error) {
	var zero T
	if a.value == "" {
		return zero, a.errorf("%s needs a value", a.key)
	}
	value, err := convert(a.value)
	if err != nil {
		return zero, a.errorf("%s: %v", a.key, err)
	}
	return value, nil
}

// set is read into a variable.
func set[T any](target *T, a arg, convert func(string) (T, error)) error {
	value, err := read(a, convert)
	if err == nil {
		*target = value
	}
	return err
}

// fromText reads an enumeration by its text form.
func fromText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](text string) (T, error) {
	var value T
	if text == "" { // of some types the text of the zero value, which nobody writes
		return value, errors.New("a value is missing")
	}
	err := P(&value).UnmarshalText([]byte(text))
	return value, err
}

// integer reads a whole number of any of the sizes that State has.
func integer[T int | int32 | int64](text string) (T, error) {
	if digits := strings.TrimPrefix(text, "-"); digits == "" || !isDigits(digits) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || int64(T(value)) != value {
		return 0, errRange
	}
	return T(value), nil
}

// natural reads a whole number without a sign.
func natural(text string) (int, error) {
	if text == "" || !isDigits(text) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return integer[int](text)
}

// misshapen is the error that a text is not of its form, unless only a number in
// it is too large.
func misshapen(err error, text, form string) error {
	if errors.Is(err, errRange) {
		return err
	}
	return fmt.Errorf("%q is not %s", text, form)
}

// flag reads a boolean: the key alone and yes are true, no is false.
func (a arg) flag(target *bool) error {
	switch {
	case !a.given || a.value == "yes":
		*target = true
	case a.value == "no":
		*target = false
	default:
		return a.errorf("%s is yes or no", a.key)
	}
	return nil
}

// amountIn reads an amount of the resource into amounts, which may be nil;
// "none" removes the entry.
func (a arg) amountIn(amounts *map[string]int64, resource string) error {
	if a.value == none {
		delete(*amounts, resource)
		return nil
	}
	value, err := read(a, func(text string) (int64, error) { return amount(resource, text) })
	if err != nil {
		return err
	}
	if *amounts == nil {
		*amounts = map[string]int64{}
	}
	(*amounts)[resource] = value
	return nil
}

// bound reads an amount, "unlimited" or "none".
func (a arg) bound(target *quota.Bound, convert func(string) (int64, error)) error {
	return set(target, a, func(text string) (quota.Bound, error) {
		switch text {
		case none:
			return quota.Bound{}, nil
		case unlimited:
			return quota.Unlimited(), nil
		}
		value, err := convert(text)
		if err == nil && value == math.MaxInt64 {
			err = errRange
		}
		return quota.Of(value), err
	})
}

// unlimited is how the bound that never binds is written.
const unlimited = "unlimited"

// formatBound writes what arg.bound reads.
func formatBound(b quota.Bound, format func(int64) string) string {
	switch {
	case !b.Given():
		return none
	case b.IsUnlimited():
		return unlimited
	}
	return format(b.Amount())
}

// resourceOf is the resource that an amount's key names: cpu, memory, or any
// as res.NAME.
func resourceOf(key string) (string, bool) {
	if key == allot.CPU || key == allot.Memory {
		return key, true
	}
	text, ok := strings.CutPrefix(key, "res.")
	if !ok {
		return "", false
	}
	name, err := unquote(text)
	return name, err == nil
}

// resourceKey writes what resourceOf reads.
func resourceKey(resource string) string {
	if resource == allot.CPU || resource == allot.Memory {
		return resource
	}
	return "res." + quote(resource)
}

// at reads an instant.
func (a arg) at(target *time.Time) error { return set(target, a, instant) }

// minRuntime reads min-runtime.preempt and min-runtime.reclaim.
func (a arg) minRuntime(target *allot.MinRuntime) (known bool, err error) {
	switch a.key {
	case "min-runtime.preempt":
		return true, a.seconds(&target.Preempt)
	case "min-runtime.reclaim":
		return true, a.seconds(&target.Reclaim)
	}
	return false, nil
}

// minRuntime writes what arg.minRuntime reads.
func (l *line) minRuntime(m allot.MinRuntime) {
	if m.Preempt.Given() {
		l.add("min-runtime.preempt", formatBound(m.Preempt, formatInteger))
	}
	if m.Reclaim.Given() {
		l.add("min-runtime.reclaim", formatBound(m.Reclaim, formatInteger))
	}
}

// exitAction reads CODE:ACTION, what follows an eviction with that exit code:
// a new one or another for one that is listed. "none" takes all away.
func (a arg) exitAction(target *[]allot.ExitAction) error {
	if a.value == none {
		*target = nil
		return nil
	}
	exit, err := read(a, parseExitAction)
	if err != nil {
		return err
	}
	*target = slices.Clone(*target)
	at := slices.IndexFunc(*target, func(e allot.ExitAction) bool { return e.Code == exit.Code })
	if at < 0 {
		*target = append(*target, exit)
	} else {
		(*target)[at] = exit
	}
	return nil
}

func parseExitAction(text string) (allot.ExitAction, error) {
	var exit allot.ExitAction
	code, action, ok := strings.Cut(text, ":")
	if !ok {
		return exit, fmt.Errorf("%q is not CODE:ACTION", text)
	}
	var err error
	if exit.Code, err = integer[int](code); err == nil {
		exit.Action, err = fromText[allot.Exit](action)
	}
	return exit, err
}

// exitActions writes what arg.exitAction reads.
func (l *line) exitActions(exits []allot.ExitAction) {
	for _, e := range exits {
		l.add("exit", strconv.Itoa(e.Code)+":"+e.Action.String())
	}
}
