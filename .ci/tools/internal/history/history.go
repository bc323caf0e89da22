// Package history reads the earlier commits that the gates compare with.
package history

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

// ChangeLog is the file in which a change is named that a gate would refuse.
const ChangeLog = "CHANGELOG.md"

// FirstParents lists the commits of HEAD along the first parents, the newest
// first.
func FirstParents(repo string) ([]string, error) {
	out, err := Git(repo, "rev-list", "--first-parent", "HEAD")
	return strings.Fields(string(out)), err
}

// Trunk is the newest commit of HEAD that is in origin/main, or in main where
// there is no origin; "" where nothing is known of it. It is HEAD on main.
func Trunk(repo string) string {
	for _, trunk := range []string{"origin/main", "main"} {
		if merged, err := Git(repo, "merge-base", "HEAD", trunk); err == nil {
			return strings.TrimSpace(string(merged))
		}
	}
	return ""
}

// BranchPoint is how many of the commits, along the first parents, stand on a
// branch of their own; 0 on main, and where nothing is known of it.
func BranchPoint(repo string, commits []string) int {
	return max(0, slices.Index(commits, Trunk(repo)))
}

// Export writes the files of a commit to a folder, of those that keep keeps.
func Export(repo, commit, folder string, keep func(name string) bool) error {
	files, err := Git(repo, "archive", commit)
	if err != nil {
		return err
	}
	return unpack(files, folder, keep)
}

func unpack(archive []byte, folder string, keep func(name string) bool) error {
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !keep(header.Name) {
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

// Git runs git in the repository and returns what it prints.
func Git(repo string, args ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", repo}, args...)...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out, nil
}
