// Package sample has a small world, by which the examples of the packages that work on one show
// what they do. Nothing but tests imports it.
//
// The world is as one that the root has compiled, before anything of it is settled: no table, no
// shares, and an index and a tree in which nothing stands. Whatever an example does to it stays its
// own. To make one costs nothing that counts.
package sample
