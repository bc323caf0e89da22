// Package prose makes the small parts of which texts for people are put together:
// numbers and what they count, names, enumerations, and tables.
//
// It has the words of no rule and knows nothing of a State. What it is given are
// numbers and strings; the sentences are made where the facts are known. Its one
// purpose is that a number, a name or a table looks the same wherever it is told.
//
// # What there is
//
//   - Numbers: [Decimal], [Count] and [Plural], [Thousandths] and [Bytes], and
//     [Ranges] for lists of indices. [Amount] and [Figure] choose among these by the
//     name of a resource.
//   - Names: [Word] quotes a name where it would not read back as one word; [Words],
//     [Each] and [Some] do so for lists. [OrNone] and [Dashed] put a dash where there
//     is nothing to tell. [Instant] is a time.
//   - Enumerations: [Name], [MarshalName] and [UnmarshalName] go between a value and
//     its text in a list of names; an empty name is no value.
//   - Tables: [Table] aligns columns of which each says how to tell a row, [Align]
//     and [AlignFigures] align cells that are texts already, [Indent] sets a text in.
//
// # Invariants
//
// Every function is pure: equal arguments have equal texts, in no locale and with
// no clock. Numbers are exact and made with integers alone; nothing is rounded.
// Texts are stable, for they stand in golden files and in what hosts show to people.
// A [Word] is one token between spaces, and distinct names have distinct words.
//
// # Complexity
//
// Everything takes time in the length of the text that it makes; a search for an
// enumeration's text takes time in the number of its names.
//
// # Example
//
// The parts of a sentence on what a workload asks:
//
//	prose.Count(3, "task") + " of " + prose.Word(name) + " ask " + prose.Amount("gpu", 1500)
//	// 3 tasks of "my train" ask 1.5 GPUs
package prose
