// Package answer turns what the library knows into answers that people can read at any
// size: the answer itself in the first line, then as much as fits a screen, what is alike
// in groups, and everything with -v. Every answer is an [output.Answer]: the same as text
// and as data.
//
// It decides nothing and reads no files. What it is given are a state and its plan or
// decision; a text that the library has is taken as it is.
package answer
