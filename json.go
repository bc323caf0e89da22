package allot

// The JSON of State, Plan and Change (V1): what the struct tags say, with "version": 1
// in front.
//
// Reading is strict and reports everything at once, each fault with its path:
// another version or none, unknown fields, names that differ in case, a key
// given twice, a fraction or exponent where a whole number belongs, unknown
// texts of enumerations, text that is not UTF-8, anything after the end. null
// for a field is the field's absence; it is nothing else's value.
//
// Writing is canonical: one document, one sequence of bytes. A round trip
// is exact but for what means the same: an empty list or map comes back as
// nil, a time in UTC at microseconds.

// MarshalJSON is the canonical JSON of s. The error is an [*InvalidError] for
// what JSON cannot hold: text that is not UTF-8, an enumeration's unknown
// value, a year of more than four digits.
func (s State) MarshalJSON() ([]byte, error) { return writeDocument(stateForm, &s) }

// UnmarshalJSON replaces s by what data says; on an error s is as before. The
// error is an [*InvalidError] with all faults. [encoding/json.Unmarshal] looks
// for faults of syntax before it calls here and reports them in its own way,
// without a path; to have them in this one, call UnmarshalJSON directly. That
// the State makes sense is for [Check] to say.
func (s *State) UnmarshalJSON(data []byte) error {
	var read State
	if err := readDocument(data, stateForm, &read); err != nil {
		return err
	}
	*s = read
	return nil
}

// MarshalJSON is the canonical JSON of p, with the errors of
// [State.MarshalJSON].
func (p Plan) MarshalJSON() ([]byte, error) { return writeDocument(planForm, &p) }

// UnmarshalJSON replaces p by what data says, as strictly and with the errors
// of [State.UnmarshalJSON].
func (p *Plan) UnmarshalJSON(data []byte) error {
	var read Plan
	if err := readDocument(data, planForm, &read); err != nil {
		return err
	}
	*p = read
	return nil
}
