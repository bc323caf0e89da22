package topology

import (
	"encoding/xml"
	"strings"
	"unicode"
)

// escape makes a text safe in SVG and HTML; what XML has no place for becomes
// U+FFFD.
func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "" // a Builder takes everything
	}
	return b.String()
}

// width is about how wide a text is at a size, rather too much than too little:
// fonts differ from machine to machine.
func width(text string, size int) int {
	hundredths := 0
	for _, r := range text {
		switch {
		case r >= 0x1100:
			hundredths += 100
		case strings.ContainsRune("iljtfrI.,:;'|!/()[] -", r):
			hundredths += 38
		case strings.ContainsRune("mwMW@%", r):
			hundredths += 95
		case unicode.IsUpper(r):
			hundredths += 72
		default:
			hundredths += 60
		}
	}
	return hundredths * size / 100
}

// boldWidth is about how wide a bold text is.
func boldWidth(text string, size int) int { return width(text, size+size/8) }

// cut shortens a text to a width.
func cut(text string, size, room int) string {
	if width(text, size) <= room {
		return text
	}
	short := []rune(text)
	for len(short) > 0 && width(string(short), size)+size > room {
		short = short[:len(short)-1]
	}
	return string(short) + "…"
}

// wrap breaks a text into lines of a width, between words where it can.
func wrap(text string, size, room int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(strings.ToValidUTF8(text, "\ufffd")) {
		for width(word, size) > room { // a name without an end
			fits := []rune(word)
			for len(fits) > 1 && width(string(fits), size) > room {
				fits = fits[:len(fits)-1]
			}
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines = append(lines, string(fits))
			word = string([]rune(word)[len(fits):])
		}
		switch {
		case line == "":
			line = word
		case width(line+" "+word, size) <= room:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
