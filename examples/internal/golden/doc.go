// Package golden compares what the programs of the examples print with files of
// their testdata. With the flag -update it writes the files.
package golden
