module github.com/allotsched/allot

go 1.26

require (
	github.com/google/btree v1.1.3
	github.com/google/go-cmp v0.7.0
	golang.org/x/exp v0.0.0-20250620022241-b7579e27df2b
	pgregory.net/rapid v1.3.0
)
