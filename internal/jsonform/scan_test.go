package jsonform

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The scanner takes exactly the JSON that encoding/json takes.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	pieces := []string{`{`, `}`, `[`, `]`, `:`, `,`, `"a"`, `"\u00e9\n"`, `"`, `\`, `0`, `-1`, `1.5`, `2e+7`, `.`, `e`, `true`, `null`, `nul`, ` `, "\n", "\x01"}
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), ""))
		s := scanner{data: data}
		s.skip(0)
		s.next()
		if got, want := !s.failed && s.pos == len(data), json.Valid(data); got != want {
			t.Fatalf("%q: valid %v, want %v", data, got, want)
		}
	})
}

// A string means what encoding/json takes it for, whatever is escaped.
func TestScannerReadsStrings(t *testing.T) {
	pieces := []string{`a`, `é`, `𝄞`, `\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0041`, `\u00E9`, `\ud834\udd1e`, `\u2028`, ` `}
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(`"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "") + `"`)
		var want string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		s := scanner{data: data}
		if got := string(s.text()); got != want || s.failed || len(s.faults) > 0 {
			t.Fatalf("%s is %q, want %q; %v", data, got, want, s.faults)
		}
	})
}
