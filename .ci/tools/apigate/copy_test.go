package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// goFiles is a file system without what is not needed to read the API.
type goFiles struct{ fs.FS }

func (f goFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		if e.IsDir() {
			return strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"
		}
		return path.Ext(e.Name()) != ".go" && e.Name() != "go.mod" && e.Name() != "go.sum"
	}), err
}
