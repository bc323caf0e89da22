// Package project makes the repositories that tests of the gates look at.
package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Project is a repository that a test makes.
type Project struct {
	*testing.T
	Folder string
}

// New is an empty repository on the branch main.
func New(t *testing.T) Project {
	p := Project{t, t.TempDir()}
	p.Git("init", "-q", "-b", "main")
	return p
}

// Git runs git in the repository, as nobody in particular and without hooks.
func (p Project) Git(args ...string) string {
	p.Helper()
	command := exec.Command("git", append([]string{"-C", p.Folder, "-c", "user.name=t", "-c", "user.email=t@example.com",
		"-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Write writes a file of the working tree.
func (p Project) Write(name, content string) {
	p.Helper()
	path := filepath.Join(p.Folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		p.Fatal(err)
	}
}

// Commit commits all that is in the working tree.
func (p Project) Commit() {
	p.Helper()
	p.Git("add", "-A")
	p.Git("commit", "-q", "--allow-empty", "-m", "next")
}
