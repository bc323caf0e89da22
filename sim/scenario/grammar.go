package scenario

import _ "embed"

//go:embed grammar.ebnf
var grammar string

// Grammar is the grammar of scenarios in EBNF, as [golang.org/x/exp/ebnf] reads
// it: every production with a comment on what it is for, the first of which, Text,
// is a whole scenario. The package's tests hold the reader and the grammar against
// each other.
func Grammar() string { return grammar }
