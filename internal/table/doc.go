// Package table keeps a sorted list of entries of which many versions live side
// by side.
//
// A [Table] is a value: [Table.Put] and [Table.Remove] return another version
// and leave the one they were called on as it was. The versions share all that
// is the same in them, so a change of a table of a hundred thousand entries
// costs a few kilobytes, and [Differences] finds what two versions do not share
// without looking at what they do. That is the whole purpose: a reader that follows a
// large state from version to version pays for the change and not for the state.
//
// # How
//
// The table is a B+ tree of pages of at most [PageSize] keys. A leaf holds
// entries; any other page holds the pages below it, each under the first key in
// it. A change copies the pages on the path from the root to its leaf and shares
// all others (path copying; Driscoll, Sarnak, Sleator and Tarjan, "Making Data
// Structures Persistent", 1989). A page that overflows is split in two halves;
// two neighbours that together fill no more than half a page become one, and a
// root with a single page below it gives way to that page.
//
// # Invariants
//
// The keys of a page ascend strictly, every page but the root of the empty table
// holds at least one, and all leaves are equally deep. A page is never written
// to once a table holds it, so tables may be read by many goroutines at once.
// Keys are compared as bytes. The entries are pointers that the caller gives:
// the table compares them by identity and never looks at what they point to, and
// an entry that some table holds must not be written to.
//
// Two tables are == if they are the same version. That two tables hold the same
// entries does not make them ==: an entry that was taken out and put back leaves
// copied pages behind.
//
// # Complexity
//
// For n entries Get, Beside, Put and Remove take O(log n), Put and Remove with a
// copy of a page per level. New and All take O(n), Len takes O(1). Differences
// takes O(d log n) for the d pages that the versions do not share, and O(n) for
// tables that were not made from one another.
//
// # Example
//
// Two versions of a list of prices, and what came between them:
//
//	was := table.New([]string{"apple", "pear"}, []*int{&three, &four})
//	is := was.Put("plum", &five).Remove("apple")
//	table.Differences(was, is) // apple went, plum came; pear is not looked at
package table
