// Package quota keeps the use of a tree of queues against their quotas and
// limits (SPEC §3).
package quota
