package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are what is built, by name.
var programs = map[string]string{
	"etcd":           "./etcd",
	"kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
	"kwok":           "sigs.k8s.io/kwok/cmd/kwok",
	// The following are built when they are asked for.
	"kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
	"kubectl":        "k8s.io/kubernetes/cmd/kubectl",
}

// Build builds programs by name, as far as they are not built, and returns the folder in
// which they are: one of the user's cache, which outlives the folder of the control plane.
func Build(ctx context.Context, say func(format string, args ...any), names ...string) (folder string, err error) {
	module, err := moduleFolder(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(cache, "allot-controlplane")
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			say("building %s (minutes the first time)", name)
		}
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(folder, name), programs[name])
		build.Dir = module
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return folder, nil
}

// moduleFolder is the folder of the module that has the programs; the caller's working
// folder is somewhere in the module of this package.
func moduleFolder(ctx context.Context) (string, error) {
	out, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/allotsched/allot/examples/kubernetes")
	if err != nil {
		return "", err
	}
	return filepath.Join(out, "controlplane"), nil
}

// stages is the folder of KWOK's own stages: what becomes of nodes and pods.
func stages(ctx context.Context) (string, error) {
	module, err := moduleFolder(ctx)
	if err != nil {
		return "", err
	}
	out, err := goTool(ctx, module, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	return filepath.Join(out, "kustomize", "stage"), err
}

func goTool(ctx context.Context, folder string, args ...string) (string, error) {
	var out, problem bytes.Buffer
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Stdout, c.Stderr = folder, &out, &problem
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(out.String()), nil
}
