package jsonform

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads JSON (RFC 8259) token by token. It exists because
// encoding/json silently replaces what is not UTF-8, lets the last of two
// equal keys win, takes "ID" for "id", and stops at the first fault: none of
// which a strict form with all faults at once can have.
type scanner struct {
	data []byte
	pos  int
	// failed is set by the first syntax error; nothing can be said about what
	// follows it.
	failed bool
	faults []Fault
	// steps lead to the value that is being read. They are a stack and no
	// linked paths, because those would escape to the heap in a recursion.
	steps Path
}

// maxDepth bounds the nesting of values that are only skipped, so that no input
// makes the recursion deep; what forms have is never as deep, and no sensible value
// of a field that is unknown is.
const maxDepth = 64

// mostFaults is how many faults are found in a document: after them nothing more is read,
// so that no input makes them take a hundred times its size.
const mostFaults = 10_000

func (s *scanner) fault(code Code, value, want string) {
	s.faults = append(s.faults, Fault{Path: s.steps.String(), Code: code, Value: value, Want: want})
	if len(s.faults) == mostFaults {
		s.syntax("must have fewer faults: after " + strconv.Itoa(mostFaults) + " nothing more is read")
	}
}

// syntax ends the reading at the present byte.
func (s *scanner) syntax(want string) {
	if s.failed {
		return
	}
	s.failed = true
	value := "the end"
	if s.pos < len(s.data) {
		r, size := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && size <= 1 {
			value = "byte 0x" + strconv.FormatUint(uint64(s.data[s.pos]), 16)
		} else {
			value = strconv.QuoteRune(r)
		}
	}
	s.fault(Syntax, value+" at offset "+strconv.Itoa(s.pos), want)
}

func (s *scanner) enter(name string, index int) {
	s.steps = append(s.steps, Step{Name: name, Index: index})
}

func (s *scanner) leave() { s.steps = s.steps[:len(s.steps)-1] }

// next skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) next() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c if it is next.
func (s *scanner) take(c byte) bool {
	if s.next() != c || s.pos >= len(s.data) {
		return false
	}
	s.pos++
	return true
}

// entries calls each for every entry of an object or list, of which the
// opening bracket is taken already, until the closing one.
func (s *scanner) entries(closing byte, each func(i int)) {
	if s.take(closing) {
		return
	}
	for i := 0; !s.failed; i++ {
		each(i)
		switch {
		case s.failed || s.take(closing):
			return
		case !s.take(','):
			s.syntax("must go on with ',' or '" + string(closing) + "'")
		}
	}
}

// name reads the name of an object's entry and the colon.
func (s *scanner) name() []byte {
	if s.next() != '"' {
		s.syntax("must have a name in quotes here")
		return nil
	}
	name := s.text()
	if !s.failed && !s.take(':') {
		s.syntax("must have ':' here")
	}
	return name
}

// text reads a string that is known to begin here. The bytes may be those of
// the input.
func (s *scanner) text() []byte {
	s.pos++
	start, ascii := s.pos, true
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw := s.data[start:s.pos]
			s.pos++
			if !ascii && !utf8.Valid(raw) {
				s.fault(BadText, quoted(raw), "must be UTF-8")
			}
			return raw
		case c == '\\':
			return s.escapedText(start)
		case c < ' ':
			s.syntax("must escape control characters")
			return nil
		default:
			ascii = ascii && c < utf8.RuneSelf
			s.pos++
		}
	}
	s.syntax("must close the string")
	return nil
}

// escapedText goes on with a string at its first escape.
func (s *scanner) escapedText(start int) []byte {
	out := append([]byte(nil), s.data[start:s.pos]...)
	lone := false
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			if lone || !utf8.Valid(out) {
				s.fault(BadText, quoted(out), "must be UTF-8, without lone surrogates")
			}
			return out
		case c == '\\':
			r, ok := s.escape()
			if !ok {
				s.syntax("must be an escape of JSON")
				return nil
			}
			lone = lone || utf16.IsSurrogate(r)
			out = utf8.AppendRune(out, r)
		case c < ' ':
			s.syntax("must escape control characters")
			return nil
		default:
			out = append(out, c)
			s.pos++
		}
	}
	s.syntax("must close the string")
	return nil
}

// escape reads one escape, or the two of a surrogate pair. A lone surrogate
// comes back as it is.
func (s *scanner) escape() (rune, bool) {
	if s.pos+1 >= len(s.data) {
		return 0, false
	}
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := range len(letters) {
		if s.data[s.pos+1] == letters[i] {
			s.pos += 2
			return rune(meanings[i]), true
		}
	}
	r, ok := s.hex(s.pos)
	if !ok {
		return 0, false
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		if low, ok := s.hex(s.pos); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				s.pos += 6
				return pair, true
			}
		}
	}
	return r, true
}

// hex reads the escape that may be at pos: \u and four hexadecimal digits.
func (s *scanner) hex(pos int) (rune, bool) {
	if pos+6 > len(s.data) || s.data[pos] != '\\' || s.data[pos+1] != 'u' {
		return 0, false
	}
	var unit [2]byte
	for i := range 4 {
		digit, ok := hexDigit(s.data[pos+2+i])
		if !ok {
			return 0, false
		}
		unit[i/2] = unit[i/2]<<4 | digit
	}
	return rune(binary.BigEndian.Uint16(unit[:])), true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// number reads a number that is known to begin here. whole says that it has
// neither fraction nor exponent.
func (s *scanner) number() (literal []byte, whole bool) {
	start := s.pos
	s.accept('-')
	if !s.accept('0') && s.digits() == 0 {
		s.syntax("must be a digit")
		return nil, false
	}
	whole = true
	if s.accept('.') {
		whole = false
		if s.digits() == 0 {
			s.syntax("must be a digit")
		}
	}
	if s.accept('e') || s.accept('E') {
		whole = false
		_ = s.accept('+') || s.accept('-')
		if s.digits() == 0 {
			s.syntax("must be a digit")
		}
	}
	return s.data[start:s.pos], whole
}

// accept consumes the byte c if it comes at once, without white space.
func (s *scanner) accept(c byte) bool {
	if s.pos >= len(s.data) || s.data[s.pos] != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// word reads true, false or null, of which the first byte is known.
func (s *scanner) word(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		s.syntax("must be " + word)
		return false
	}
	s.pos += len(word)
	return true
}

// skip reads any value, checks that it is JSON and returns its bytes.
func (s *scanner) skip(depth int) []byte {
	if depth > maxDepth {
		s.syntax("must not nest deeper")
		return nil
	}
	c := s.next()
	start := s.pos
	switch {
	case c == '"':
		s.text()
	case c == '-' || '0' <= c && c <= '9':
		s.number()
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	case c == '[':
		s.pos++
		s.entries(']', func(int) { s.skip(depth + 1) })
	case c == '{':
		s.pos++
		s.entries('}', func(int) {
			s.name()
			s.skip(depth + 1)
		})
	default:
		s.syntax("must be a value")
	}
	return s.data[start:s.pos]
}
