package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Error is a fault of the text: where it is, counted from 1, and what.
type Error struct {
	Line, Column int
	Message      string
}

// Error returns "line:column: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// A word is what stands between two spaces, quotes still in place, since
// separators inside quotes separate nothing.
type word struct {
	text         string
	line, column int
}

// errorf is an Error at the word.
func (w word) errorf(format string, values ...any) *Error {
	return &Error{Line: w.line, Column: w.column, Message: fmt.Sprintf(format, values...)}
}

// checkText refuses a line that is not UTF-8 or holds control characters other
// than tabs and carriage returns.
func checkText(text string, line int) error {
	for at, c := range text {
		at := word{line: line, column: at + 1}
		switch _, size := utf8.DecodeRuneInString(text[at.column-1:]); {
		case c == utf8.RuneError && size == 1:
			return at.errorf("the text is not UTF-8")
		case c < ' ' && c != '\t' && c != '\r':
			return at.errorf("a control character, %q, stands in the text", c)
		}
	}
	return nil
}

// splitLine takes a line apart into statements of at least one word each. A
// '#' at the start of a word begins a comment. A '|' parts two statements.
func splitLine(text string, line int) ([][]word, error) {
	var statements [][]word
	var current []word
	var bar *word // the last one, if no statement has begun behind it
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case c == ' ' || c == '\t' || c == '\r':
			at++
		case c == '#':
			at = len(text)
		case c == '|':
			bar = &word{line: line, column: at + 1}
			if len(current) == 0 {
				return nil, bar.errorf("there is no statement before '|'")
			}
			statements, current = append(statements, current), nil
			at++
		default:
			end, ok := wordEnd(text, at)
			w := word{text: text[at:end], line: line, column: at + 1}
			if !ok {
				return nil, w.errorf("the quote is not closed")
			}
			current, bar = append(current, w), nil
			at = end
		}
	}
	if bar != nil {
		return nil, bar.errorf("there is no statement behind '|'")
	}
	if len(current) > 0 {
		statements = append(statements, current)
	}
	return statements, nil
}

// wordEnd is where the word that begins at 'at' ends; false if a quote is
// open there.
func wordEnd(text string, at int) (int, bool) {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '|':
			return at, true
		case '"':
			end, ok := quoteEnd(text, at)
			if !ok {
				return len(text), false
			}
			at = end
		default:
			at++
		}
	}
	return at, true
}

// quoteEnd is the index behind the quoted string that begins at 'at'.
func quoteEnd(text string, at int) (int, bool) {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1, true
		}
	}
	return len(text), false
}

// indexes are the positions of sep in text outside quotes.
func indexes(text, sep string) []int {
	var found []int
	for at := 0; at < len(text); {
		switch {
		case text[at] == '"':
			at, _ = quoteEnd(text, at)
		case strings.HasPrefix(text[at:], sep):
			found = append(found, at)
			at += len(sep)
		default:
			at++
		}
	}
	return found
}

// cut is strings.Cut outside quotes.
func cut(text, sep string) (before, after string, found bool) {
	at := indexes(text, sep)
	if len(at) == 0 {
		return text, "", false
	}
	return text[:at[0]], text[at[0]+len(sep):], true
}

// cutLast is cut at the last sep; without one, everything is after.
func cutLast(text, sep string) (before, after string, found bool) {
	at := indexes(text, sep)
	if len(at) == 0 {
		return "", text, false
	}
	last := at[len(at)-1]
	return text[:last], text[last+len(sep):], true
}

// split is strings.Split outside quotes.
func split(text, sep string) []string {
	var parts []string
	from := 0
	for _, at := range indexes(text, sep) {
		parts = append(parts, text[from:at])
		from = at + len(sep)
	}
	return append(parts, text[from:])
}

// unquote turns the text of a name, bare or in quotes as a whole, into the
// name.
func unquote(text string) (string, error) {
	if !strings.Contains(text, `"`) {
		return text, checkBare(text)
	}
	name, err := strconv.Unquote(text)
	if err != nil || text[0] != '"' {
		return "", fmt.Errorf("%s is neither bare nor quoted as a whole", text)
	}
	return name, nil
}

// separators part something somewhere, so that a bare name holds none of them.
const separators = ` "|,:=@[]#`

// checkBare refuses what must be quoted to be a name.
func checkBare(text string) error {
	if text == "" {
		return errors.New(`a name is missing: the empty one is ""`)
	}
	for _, c := range text {
		if strings.ContainsRune(separators, c) || c < ' ' || 0x7f <= c && c <= 0xa0 {
			return fmt.Errorf("%s must be quoted, for its %q", text, c)
		}
	}
	if strings.Contains(text, "..") {
		return fmt.Errorf("%s must be quoted, for its dots", text)
	}
	return nil
}

// unquoteAll is unquote of every part of a list.
func unquoteAll(text string) ([]string, error) {
	var names []string
	for _, part := range split(text, ",") {
		name, err := unquote(part)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// quote writes a name so that unquote reads it back; bare if nothing in it
// could be taken for a separator, a range or an empty value.
func quote(name string) string { return quoteBut(name, "") }

// quoteQueue is quote for the name of a queue, in which a slash that parts
// two names may stand bare.
func quoteQueue(name string) string {
	if strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") {
		return strconv.Quote(name)
	}
	return quoteBut(name, "/")
}

func quoteBut(name, allowed string) string {
	if name == "" || strings.Contains(name, "..") {
		return strconv.Quote(name)
	}
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("_.-"+allowed, rune(c)) {
			return strconv.Quote(name)
		}
	}
	return name
}

// quoteAll is quote of each, joined by commas.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ",")
}
