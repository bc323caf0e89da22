// Package backfill holds what promises and backfill are held against (B3–B7): textbook
// schedulers, written slowly and without a look at the solver, and laws of drawn lives.
// There is nothing in it but tests.
package backfill
