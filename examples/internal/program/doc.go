// Package program is what the programs of the examples have in common: how they
// read their command line, and with which codes they exit.
package program
