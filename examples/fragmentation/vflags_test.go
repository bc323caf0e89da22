package main

import "flag"

var (
	parallel     = flag.Int("par", 2, "")
	firstVariant = flag.Int("v0", 0, "")
	lastVariant  = flag.Int("v1", 40, "")
	lastSeed     = flag.Int64("s1", 45, "")
	onlyShadow   = flag.Bool("only", false, "")
)
