package jsonform

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A book has a field of every kind.
type book struct {
	Title   string            `json:"title"`
	Pages   int64             `json:"pages,omitzero"`
	Edition int32             `json:"edition,omitzero"`
	Lent    bool              `json:"lent,omitzero"`
	Bought  time.Time         `json:"bought,omitzero"`
	Binding binding           `json:"binding,omitzero"`
	Price   price             `json:"price,omitzero"`
	Notes   map[string]string `json:"notes,omitempty"`
	Copies  map[string]int    `json:"copies,omitempty"`
	Parts   []chapter         `json:"parts,omitempty"`
	Sequel  *sequel           `json:"sequel,omitzero"`
	Cover   cover             `json:"cover,omitzero"`
}

type chapter struct {
	Title string `json:"title"`
	Pages int64  `json:"pages,omitzero"`
}

type sequel struct {
	Title string `json:"title,omitzero"`
}

// A cover can be empty without being zero.
type cover struct {
	Colours []string `json:"colours,omitempty"`
}

// A binding is an enumeration.
type binding uint8

var bindings = []string{"", "paper", "cloth"}

func (b binding) MarshalText() ([]byte, error) {
	if int(b) >= len(bindings) {
		return nil, errors.New("no binding")
	}
	return []byte(bindings[b]), nil
}

func (b *binding) UnmarshalText(text []byte) error {
	i := slices.Index(bindings, string(text))
	if i < 0 {
		return errors.New("no binding")
	}
	*b = binding(i)
	return nil
}

// A price has JSON methods of its own: a number or "free".
type price struct{ n int }

func (p price) MarshalJSON() ([]byte, error) {
	if p.n == 0 {
		return []byte(`"free"`), nil
	}
	return strconv.AppendInt(nil, int64(p.n), 10), nil
}

func (p *price) UnmarshalJSON(data []byte) (err error) {
	if string(data) == `"free"` {
		p.n = 0
		return nil
	}
	p.n, err = strconv.Atoi(string(data))
	return err
}

var library = Schema{Version: 3, Custom: map[reflect.Type]string{reflect.TypeFor[price](): `must be a number or "free"`}}

var bookForm = library.Document(reflect.TypeFor[book]())

// read is the faults, as lines, of reading a book from data.
func read(data string, b *book) (lines []string) {
	err := Read([]byte(data), bookForm, b)
	var wrong *Error
	if errors.As(err, &wrong) {
		for _, f := range wrong.Faults {
			lines = append(lines, f.String())
		}
	}
	return lines
}

// TestFaults: every code has a row, and each row is the one line that says what is
// wrong.
func TestFaults(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	long := strings.Repeat("x", 50)
	rows := []struct {
		code Code
		data string
		want string
	}{
		{BadValue, `{"version":3,"title":"","bought":"2026-01-31T1:00:00Z"}`, `bought: must be a time such as 2026-01-31T12:00:00Z, is "2026-01-31T1:00:00Z"`},
		{BadValue, `{"version":3,"title":"","bought":"2026-01-31T12:00:00,5Z"}`, `bought: must be a time such as 2026-01-31T12:00:00Z, is "2026-01-31T12:00:00,5Z"`},
		{BadValue, `{"version":3,"title":"","bought":"2026-01-31T12:00:00+24:00"}`, `bought: must be a time such as 2026-01-31T12:00:00Z, is "2026-01-31T12:00:00+24:00"`},
		{UnknownName, `{"version":3,"title":"","binding":"` + long + `"}`, `binding: must be paper or cloth, is "` + long[:40] + `"…`},
		{Syntax, ``, `$: must be a value, is the end at offset 0`},
		{Syntax, `{"version":3,}`, `$: must have a name in quotes here, is '}' at offset 13`},
		{Syntax, `{"version" 3}`, `$: must have ':' here, is '3' at offset 11`},
		{Syntax, `{"version":3,"parts":[{"title":"a" "b"}]}`, `parts[0]: must go on with ',' or '}', is '"' at offset 35`},
		{Syntax, "{\"version\":3,\"title\":\"a\n\"}", `title: must escape control characters, is '\n' at offset 23`},
		{Syntax, "{\"version\":3,\"title\":\"\\t\n\"}", `title: must escape control characters, is '\n' at offset 24`},
		{Syntax, `{"version":3,"title":"\x"}`, `title: must be an escape of JSON, is '\\' at offset 22`},
		{Syntax, `{"version":3,"title":"\u00g0"}`, `title: must be an escape of JSON, is '\\' at offset 22`},
		{Syntax, `{"version":3,"title":"\`, `title: must be an escape of JSON, is '\\' at offset 22`},
		{Syntax, `{"version":3,"title":"\n`, `title: must close the string, is the end at offset 24`},
		{Syntax, `{"version":3,"title":"a`, `title: must close the string, is the end at offset 23`},
		{Syntax, `{"version":3,"pages":-}`, `pages: must be a digit, is '}' at offset 22`},
		{Syntax, `{"version":3,"pages":1.}`, `pages: must be a digit, is '}' at offset 23`},
		{Syntax, `{"version":3,"pages":1e}`, `pages: must be a digit, is '}' at offset 23`},
		{Syntax, `{"version":3,"lent":tru}`, `lent: must be true, is 't' at offset 20`},
		{Syntax, "{\"version\":3,\"parts\":\xff}", `parts: must be a value, is byte 0xff at offset 21`},
		{Syntax, `{"version":3,"x":` + deep + `}`, `x: must not nest deeper, is '[' at offset 82`},
		{WrongVersion, `{}`, `version: must be 3`},
		{WrongVersion, `{"version":2,"other":{"form":[]}}`, `version: must be 3, is 2`},
		{UnknownField, `{"version":3,"name":[{"id":"a"}]}`, `name: must not be there: no such field, is [{"id":"a"}]`},
		{UnknownField, `{"version":3,"Title":"a"}`, `Title: must not be there: no such field, is "a"`},
		{UnknownField, `{"version":3,"":0}`, `[""]: must not be there: no such field, is 0`},
		{UnknownField, `{"version":3,"a-b":{"c":-1.5e3,"d":[null,false]}}`, `["a-b"]: must not be there: no such field, is {"c":-1.5e3,"d":[null,false]}`},
		{UnknownField, `{"version":3,"x":"` + long + `"}`, `x: must not be there: no such field, is "\"` + long[:39] + `"…`},
		{UnknownField, `{"version":3,"x":"é"}`, `x: must not be there: no such field, is "\"\u00e9\""`},
		{DuplicateKey, `{"version":3,"parts":[],"parts":[]}`, `parts: must be there once, is []`},
		{DuplicateKey, `{"version":3,"notes":{"cpu":"","c\u0070u":"2"}}`, `notes["cpu"]: must be there once, is "2"`},
		{WrongType, `[]`, `$: must be an object, is []`},
		{WrongType, `null`, `$: must be an object, is null`},
		{WrongType, `{"version":3,"parts":{}}`, `parts: must be a list, is {}`},
		{WrongType, `{"version":3,"parts":[null]}`, `parts[0]: must be an object, is null`},
		{WrongType, `{"version":3,"notes":[]}`, `notes: must be an object, is []`},
		{WrongType, `{"version":3,"copies":{"a":"1"}}`, `copies["a"]: must be a whole number, is "1"`},
		{WrongType, `{"version":3,"pages":1.0}`, `pages: must be a whole number, without fraction or exponent, is 1.0`},
		{WrongType, `{"version":3,"pages":1e3}`, `pages: must be a whole number, without fraction or exponent, is 1e3`},
		{WrongType, `{"version":3,"title":7}`, `title: must be a string, is 7`},
		{WrongType, `{"version":3,"lent":1}`, `lent: must be true or false, is 1`},
		{BadValue, `{"version":3,"pages":9223372036854775808}`, `pages: must fit 64 bits, is 9223372036854775808`},
		{BadValue, `{"version":3,"edition":2147483648}`, `edition: must fit 32 bits, is 2147483648`},
		{BadValue, `{"version":3,"bought":"yesterday"}`, `bought: must be a time such as 2026-01-31T12:00:00Z, is "yesterday"`},
		{BadValue, `{"version":3,"price":"dear"}`, `price: must be a number or "free", is "dear"`},
		{UnknownName, `{"version":3,"binding":"Paper"}`, `binding: must be paper or cloth, is "Paper"`},
		{BadText, `{"version":3,"title":"\ud800x"}`, "title: must be UTF-8, without lone surrogates, is \"\ufffdx\""},
		{BadText, `{"version":3,"title":"\ud800\u0041"}`, "title: must be UTF-8, without lone surrogates, is \"\ufffdA\""},
		{BadText, "{\"version\":3,\"title\":\"\xff\"}", `title: must be UTF-8, is "\xff"`},
		{Trailing, `{"version":3} {}`, `$: must end after the object, is more at offset 14`},
		{Trailing, "{\"version\":3}\x00", `$: must end after the object, is more at offset 13`},
	}
	seen := make(map[Code]bool)
	for _, row := range rows {
		var b book
		err := Read([]byte(row.data), bookForm, &b)
		var wrong *Error
		if !errors.As(err, &wrong) || len(wrong.Faults) != 1 || wrong.Faults[0].Code != row.code || wrong.Faults[0].String() != row.want {
			t.Errorf("%s: got %v\nwant %s", row.data, err, row.want)
		}
		seen[row.code] = true
	}
	for code := Syntax; code <= Trailing; code++ {
		if !seen[code] && code != OutOfRange { // which is for writing
			t.Errorf("no row for code %d", code)
		}
	}
}

// TestAllFaults: what follows a fault is read as well, and what is sound is kept.
func TestAllFaults(t *testing.T) {
	var b book
	got := read(`{"version":3,"title":"a","pages":2.5,"x":{"y":[1]},"parts":[{"title":1},{"pages":"1","pages":2}],"notes":{},"z":0} !`, &b)
	want := []string{
		"pages: must be a whole number, without fraction or exponent, is 2.5",
		`x: must not be there: no such field, is {"y":[1]}`,
		"parts[0].title: must be a string, is 1",
		`parts[1].pages: must be a whole number, is "1"`,
		"parts[1].pages: must be there once, is 2",
		"z: must not be there: no such field, is 0",
		"$: must end after the object, is more at offset 115",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b.Title != "a" || len(b.Parts) != 2 || b.Notes != nil {
		t.Errorf("read %+v", b)
	}
	err := Read([]byte(`{"version":3,"title":1,"pages":""}`), bookForm, new(book))
	if want := "jsonform: title: must be a string, is 1\n\tpages: must be a whole number, is \"\""; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAbsence: null for a field is its absence, and what is absent is not written.
func TestAbsence(t *testing.T) {
	var b book
	if faults := read(`{"version":3,"title":"a","parts":null,"sequel":null,"bought":null,"price":null,"notes":{},"cover":{"colours":[]}}`, &b); faults != nil {
		t.Fatal(faults)
	}
	if diff := cmp.Diff(book{Title: "a"}, b, cmp.AllowUnexported(price{})); diff != "" {
		t.Error(diff)
	}
	for want, b := range map[string]book{ // in any order
		`{"version":3,"title":""}`:                                        {Parts: []chapter{}, Notes: map[string]string{}, Cover: cover{Colours: []string{}}},
		`{"version":3,"title":"","sequel":{}}`:                            {Sequel: new(sequel)},
		`{"version":3,"title":"","cover":{"colours":["red"]}}`:            {Cover: cover{Colours: []string{"red"}}},
		`{"version":3,"title":"\u003c\u0026\u003e\u2028\"\n"}`:            {Title: "<&>\u2028\"\n"},
		`{"version":3,"title":"","notes":{"":"c","a":"","b":""}}`:         {Notes: map[string]string{"b": "", "a": "", "": "c"}},
		`{"version":3,"title":"","bought":"2026-01-31T12:00:00.000001Z"}`: {Bought: time.Date(2026, 1, 31, 13, 0, 0, 1999, time.FixedZone("", 3600))},
		`{"version":3,"title":"","bought":"0001-01-01T00:00:00.000001Z"}`: {Bought: time.Time{}.Add(time.Microsecond)},
	} {
		got, err := Write(bookForm, &b)
		if err != nil {
			t.Error(err)
		}
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRefusesToWrite: what JSON cannot hold is an error with its path.
func TestRefusesToWrite(t *testing.T) {
	for want, b := range map[string]book{ // in any order
		`parts[1].title: must be UTF-8, is "\xff"`:                                 {Parts: []chapter{{}, {Title: "\xff"}}},
		`notes: must be UTF-8, is "\xff"`:                                          {Notes: map[string]string{"\xff": ""}},
		`notes["k"]: must be UTF-8, is "\xff"`:                                     {Notes: map[string]string{"k": "\xff"}},
		`binding: must be paper or cloth, is 9`:                                    {Binding: 9},
		`bought: must be a year of four digits, is 10000-01-01 00:00:00 +0000 UTC`: {Bought: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		data, err := Write(bookForm, &b)
		if data != nil || err == nil || err.Error() != "jsonform: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestRoundTrip: what is written is read as it was and written again as the same
// bytes; and it is the JSON that encoding/json sees.
func TestRoundTrip(t *testing.T) {
	text := rapid.StringOfN(rapid.Rune(), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		before := book{
			Title: text.Draw(t, "title"), Pages: rapid.Int64().Draw(t, "pages"), Edition: rapid.Int32().Draw(t, "edition"),
			Lent: rapid.Bool().Draw(t, "lent"), Binding: binding(rapid.IntRange(0, 2).Draw(t, "binding")),
			Bought: time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(t, "bought")).UTC(), Price: price{rapid.IntRange(0, 3).Draw(t, "price")},
			Notes: rapid.MapOfN(text, text, 1, 3).Draw(t, "notes"), Copies: rapid.MapOfN(text, rapid.Int(), 1, 3).Draw(t, "copies"),
			Sequel: &sequel{Title: text.Draw(t, "sequel")}, Cover: cover{Colours: rapid.SliceOfN(text, 1, 3).Draw(t, "cover")},
		}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			before.Parts = append(before.Parts, chapter{text.Draw(t, "part"), rapid.Int64().Draw(t, "of pages")})
		}
		first, err := Write(bookForm, &before)
		if err != nil {
			t.Fatal(err)
		}
		var after book
		if faults := read(string(first), &after); faults != nil {
			t.Fatalf("%s: %v", first, faults)
		}
		if diff := cmp.Diff(before, after, cmp.AllowUnexported(price{})); diff != "" {
			t.Fatalf("the round trip changed it:\n%s", diff)
		}
		if second, err := Write(bookForm, &after); err != nil || string(first) != string(second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
		var title struct{ Title string }
		if err := json.Unmarshal(first, &title); err != nil || title.Title != before.Title {
			t.Fatalf("%s: %q, %v", first, title.Title, err)
		}
	})
}

// FuzzRead: no input makes a panic, and what is read without a fault is JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"version":3,"title":"a","parts":[{"pages":1}],"notes":{"\ud834\udd1e":""}}`, `{"x":[[1e5,{}]]}`, "\"\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if faults := read(data, new(book)); len(faults) == 0 && !json.Valid([]byte(data)) {
			t.Errorf("takes %q", data)
		}
	})
}

// TestPaths: paths have texts, and sort by where they stand in a document.
func TestPaths(t *testing.T) {
	field := func(name string) Step { return Step{Name: name, Index: IsField} }
	key := func(name string) Step { return Step{Name: name, Index: IsKey} }
	inOrder := []struct {
		path Path
		text string
	}{
		{nil, "$"},
		{Path{field("title")}, "title"},
		{Path{field("pages")}, "pages"},
		{Path{field("notes")}, "notes"},
		{Path{field("notes"), key("a")}, `notes["a"]`},
		{Path{field("notes"), key("b c")}, `notes["b c"]`},
		{Path{field("parts")}, "parts"},
		{Path{field("parts"), {Index: 2}}, "parts[2]"},
		{Path{field("parts"), {Index: 2}, field("title")}, "parts[2].title"},
		{Path{field("parts"), {Index: 10}, field("title")}, "parts[10].title"},
		{Path{field("sequel"), field("title")}, "sequel.title"},
		{Path{field("cover"), field("colours"), {Index: 0}}, "cover.colours[0]"},
	}
	for i, a := range inOrder {
		if got := a.path.String(); got != a.text {
			t.Errorf("%s, want %s", got, a.text)
		}
		for j, b := range inOrder {
			before := a.path.String()
			got := ComparePlaces(bookForm.Rank(a.path), bookForm.Rank(b.path))
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s compare as %d", a.text, b.text, got)
			}
			if a.path.String() != before {
				t.Errorf("ranking has changed %s", before)
			}
		}
	}
}

// TestText: a value by itself looks as it does in a document.
func TestText(t *testing.T) {
	b := book{Title: "a", Parts: []chapter{{Title: "b"}}}
	for i, want := range map[int]string{1: `"a"`, 10: `[{"title":"b"}]`} { // in any order
		field := bookForm.Fields[i]
		if got := field.Form.Text(reflect.ValueOf(b).Field(field.Index)); got != want {
			t.Errorf("%s: %s, want %s", field.Name, got, want)
		}
	}
}

// TestNoForm: a struct that cannot have a form is refused when the form is made.
func TestNoForm(t *testing.T) {
	for name, v := range map[string]any{ // in any order
		"no tag": struct{ A int }{},
		"a float": struct {
			A float64 `json:"a"`
		}{},
		"other keys": struct {
			A map[int]int `json:"a"`
		}{},
		"half the texts": struct {
			A half `json:"a"`
		}{},
		"a large integer": struct {
			A uint64 `json:"a"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: there is a form", name)
				}
			}()
			library.Document(reflect.TypeOf(v))
		}()
	}
	var many []reflect.StructField
	for i := range maxFields + 1 {
		many = append(many, reflect.StructField{Name: fmt.Sprint("A", i), Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf(`json:"a%d"`, i))})
	}
	library.Object(reflect.StructOf(many[:maxFields]))
	defer func() {
		if recover() == nil {
			t.Error("more fields than an object may have")
		}
	}()
	library.Object(reflect.StructOf(many))
}

// half can be read and not written.
type half uint8

func (h *half) UnmarshalText([]byte) error { return nil }

// TestVersionBefore: a document of the version before is read by its own names and
// none of this version's, one of this version by this one's; what is written is this one.
func TestVersionBefore(t *testing.T) {
	type leaf struct {
		Colour string `json:"colour,omitzero"`
	}
	type tree struct {
		Leaves []leaf `json:"leaves,omitempty"`
		Height int    `json:"height,omitzero"`
	}
	form := Schema{Version: 4, Before: []Rename{
		{Type: reflect.TypeFor[leaf](), Was: "paint", Now: "colour"},
		{Type: reflect.TypeFor[tree](), Was: "foliage", Now: "leaves"},
	}}.Document(reflect.TypeFor[tree]())
	red := tree{Leaves: []leaf{{Colour: "red"}}, Height: 2}
	for _, row := range []struct{ data, want string }{
		{`{"version":4,"leaves":[{"colour":"red"}],"height":2}`, ""},
		{`{"version":3,"foliage":[{"paint":"red"}],"height":2}`, ""},
		{`{"foliage":[{"paint":"red"}],"height":2,"version":3}`, ""},
		{`{"version":4,"foliage":[]}`, `jsonform: foliage: must not be there: no such field, is []`},
		{`{"version":3,"leaves":[]}`, `jsonform: leaves: must not be there: no such field, is []`},
		{`{"version":3,"foliage":[{"colour":"red"}]}`, `jsonform: foliage[0].colour: must not be there: no such field, is "red"`},
		{`{"version":3,"foliage":[],"height":x}`, `jsonform: height: must be a value, is 'x' at offset 35`},
		{`{"version":2,"foliage":[]}`, `jsonform: version: must be 4 or 3, is 2`},
		{`{"version":5,"leaves":[]}`, `jsonform: version: must be 4 or 3, is 5`},
		{`{}`, `jsonform: version: must be 4 or 3`},
	} {
		var got tree
		err := Read([]byte(row.data), form, &got)
		if row.want != "" {
			if err == nil || err.Error() != row.want {
				t.Errorf("%s: got %v\nwant %s", row.data, err, row.want)
			}
			continue
		}
		if diff := cmp.Diff(red, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", row.data, err, diff)
		}
		if written, err := Write(form, &got); string(written) != `{"version":4,"leaves":[{"colour":"red"}],"height":2}` || err != nil {
			t.Errorf("written %s, %v", written, err)
		}
	}
}

// After many faults reading ends, and says so.
func TestMostFaults(t *testing.T) {
	text := `{"version":1,` + strings.Repeat(`"unknown":1,`, 3*mostFaults) + `"title":"a"}`
	var faulty *Error
	if err := Read([]byte(text), bookForm, new(book)); !errors.As(err, &faulty) || len(faulty.Faults) != mostFaults+1 || faulty.Faults[mostFaults].Code != Syntax {
		t.Errorf("%.300v", err)
	}
}
