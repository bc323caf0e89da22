// Package jsonform reads and writes Go structs as strict JSON, by reflection, and
// says of everything that is wrong with a document where it is.
//
// The package encoding/json replaces bytes that are not UTF-8, lets the last of two
// equal keys win, takes "ID" for "id", and stops at the first fault. Here reading is
// strict and reports everything at once, each fault with its [Path]: another version
// or none, unknown fields, names that differ in case, a key given twice, a fraction
// or exponent where a whole number belongs, unknown texts of enumerations, text that
// is not UTF-8, anything after the end. null for a field is the field's absence; it
// is nothing else's value. Writing is canonical: one value, one sequence of bytes.
//
// # How
//
// A [Schema] makes the [Form] of a document from a struct: what each field is called,
// whether it may be left out, and what its value looks like, one of the few kinds at
// [Kind]. [Read] and [Write] follow the form and the value side by side. Forms are
// there to be walked by others too: [Form.Rank] and [ComparePlaces] sort faults by
// where they stand in a document, and a comparison of two values goes by the same
// fields. A schema with the fields that were renamed ([Schema.Before]) makes the form of
// the version before as well, which Read goes by if the document is of that version;
// what is written is always the newer one. The scanner takes exactly the JSON of RFC 8259, as encoding/json does.
//
// # Invariants
//
// A form and a schema are never changed once made, so that goroutines may share
// them. What [Write] gives, [Read] takes, and writing what was read gives the same
// bytes. A round trip keeps the value but for what means the same: an empty list or
// map comes back as nil, a time in UTC at microseconds. Input of any kind makes an
// [*Error] and never a panic; the recursion is as deep as the form, and at most 64
// levels more where something is skipped. An object has at most 64 fields.
//
// # Complexity
//
// Read takes time in the length of the input, twice that for the version before, Write in that of the output; both
// allocate what they return, and for each map entry. A field whose names come in the
// order of the struct is found at once, any other in the number of fields. Ranking a
// path takes time in its steps and the fields at each.
//
// # Example
//
// A document of version 1 and what is wrong with another:
//
//	type shelf struct {
//		Books []string `json:"books,omitempty"`
//		Width int      `json:"width"`
//	}
//	form := jsonform.Schema{Version: 1}.Document(reflect.TypeFor[shelf]())
//	jsonform.Write(form, &shelf{Width: 80})  // {"version":1,"width":80}
//	jsonform.Read([]byte(`{"version":1,"books":["a",7]}`), form, new(shelf))
//	// books[1]: must be a string, is 7
package jsonform
