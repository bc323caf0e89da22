// Package words has the words and figures of the pages: amounts with their units, names
// in the order of people, letters for work, what reasons, actions and fates are called.
// They are for people and may change; what programs read has texts of the library.
//
// Every function is pure: the same arguments have the same text, with no clock.
package words
