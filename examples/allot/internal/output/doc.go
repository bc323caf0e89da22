// Package output writes answers: as text for a terminal, with more columns, as JSON
// or as YAML.
//
// An [Answer] says the same in all four forms. What a terminal shows is put together
// on a [Page], which knows headings, prose in lines, and tables; colours say nothing
// that the text does not. JSON and YAML are the data of the answer, for tools.
package output
