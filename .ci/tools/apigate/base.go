package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const changeLog = "CHANGELOG.md"

// A base is an earlier commit whose API was promised.
type base struct {
	commit    string
	back      int // commits before HEAD along the first parents
	changeLog string
}

func (b base) String() string { return fmt.Sprintf("%.10s (%d back)", b.commit, b.back) }

// findBases lists the commits to compare with, the newest first.
func findBases(repo string) ([]base, error) {
	history, err := git(repo, "rev-list", "--first-parent", "HEAD")
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(history))
	first := branchPoint(repo, commits)
	var bases []base
	for back := first; back < len(commits); back++ {
		log, err := git(repo, "show", commits[back]+":"+changeLog)
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

// branchPoint is how many of the commits stand on a branch of their own, that
// is, are not in origin/main, or in main where there is no origin; 0 on main,
// and where nothing is known of it.
func branchPoint(repo string, commits []string) int {
	for _, trunk := range []string{"origin/main", "main"} {
		if merged, err := git(repo, "merge-base", "HEAD", trunk); err == nil {
			return max(0, slices.Index(commits, strings.TrimSpace(string(merged))))
		}
	}
	return 0
}

// compare lists the incompatible changes from the base to head.
func (b base) compare(repo string, loader *loader, head map[string]*api) ([]breaking, error) {
	folder, err := os.MkdirTemp("", "apigate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	files, err := git(repo, "archive", b.commit)
	if err != nil {
		return nil, err
	}
	if err := unpack(files, folder); err != nil {
		return nil, err
	}
	old, err := loader.load(folder)
	if err != nil {
		return nil, err
	}
	return compare(old, head), nil
}

// unpack writes the Go files and go.mod files of the archive to the folder.
func unpack(archive []byte, folder string) error {
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Base(header.Name)
		if header.Typeflag != tar.TypeReg || filepath.Ext(name) != ".go" && name != "go.mod" && name != "go.sum" {
			continue
		}
		if !filepath.IsLocal(header.Name) {
			return errors.New("the archive leaves its folder: " + header.Name)
		}
		path := filepath.Join(folder, header.Name)
		content, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o666); err != nil {
			return err
		}
	}
}

// git runs git in the repository and returns what it prints.
func git(repo string, args ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", repo}, args...)...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out, nil
}
