package main

import (
	"fmt"
	"os"
	"path"

	"github.com/allotsched/allot/.ci/tools/internal/history"
)

// A base is an earlier commit whose API was promised.
type base struct {
	commit    string
	back      int // commits before HEAD along the first parents
	changeLog string
}

func (b base) String() string { return fmt.Sprintf("%.10s (%d back)", b.commit, b.back) }

// findBases lists the commits to compare with, the newest first.
func findBases(repo string) ([]base, error) {
	commits, err := history.FirstParents(repo)
	if err != nil {
		return nil, err
	}
	first := history.BranchPoint(repo, commits)
	var bases []base
	for back := first; back < len(commits); back++ {
		log, err := history.Git(repo, "show", commits[back]+":"+history.ChangeLog)
		if err != nil {
			break
		}
		bases = append(bases, base{commits[back], back, string(log)})
	}
	return sample(bases), nil
}

// sample keeps the bases 0, 1, 2, 4, 8, … and the last.
func sample(all []base) []base {
	var kept []base
	for distance := 0; distance < len(all)-1; distance = max(1, 2*distance) {
		kept = append(kept, all[distance])
	}
	if len(all) > 0 {
		kept = append(kept, all[len(all)-1])
	}
	return kept
}

// compare lists the incompatible changes from the base to head.
func (b base) compare(repo string, loader *loader, head map[string]*api) ([]breaking, error) {
	folder, err := os.MkdirTemp("", "apigate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := history.Export(repo, b.commit, folder, ofAPI); err != nil {
		return nil, err
	}
	old, err := loader.load(folder)
	if err != nil {
		return nil, err
	}
	return compare(old, head), nil
}

// ofAPI tells which files are needed to read the API.
func ofAPI(name string) bool {
	file := path.Base(name)
	return path.Ext(file) == ".go" || file == "go.mod" || file == "go.sum"
}
