package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/module"
)

// state is what the installed program is asked about, and start is what it must say of it.
const (
	state = "nodes: [{id: n1, devices: 8}]\n" +
		"workloads: [{id: train, podSets: [{count: 2, request: {gpu: 3}}]}]\n"
	start = "start train [0-1] n1[0-2] n1[3-5]"
)

// prove installs the program of the repository and runs it, all in the work folder.
func prove(out io.Writer, repo, work string) error {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return err
	}
	library, err := read(repo)
	if err != nil {
		return err
	}
	program, err := read(filepath.Join(repo, folder))
	if err != nil {
		return err
	}
	version, err := required(program, library.Module.Mod.Path)
	if err != nil {
		return err
	}
	proxy := filepath.Join(work, "proxy")
	for mod, folder := range map[string]string{ // each is a file of its own
		library.Module.Mod.Path: repo,
		program.Module.Mod.Path: filepath.Join(repo, folder),
	} {
		if err := publish(proxy, folder, module.Version{Path: mod, Version: version}); err != nil {
			return err
		}
	}
	bin, lacks, err := install(program.Module.Mod.Path+"@latest", proxy, work)
	if lacks != "" {
		fmt.Fprintf(out, "installable: nothing is proved: the module cache lacks %s\n", lacks)
		return nil
	}
	if err != nil {
		return err
	}
	return try(out, filepath.Join(bin, path.Base(program.Module.Mod.Path)), version, work)
}

// install installs a package into a folder that it returns, or says what the module cache of
// this machine does not have.
func install(what, proxy, work string) (bin, lacks string, err error) {
	cached, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", "", err
	}
	others := filepath.Join(strings.TrimSpace(string(cached)), "cache", "download")
	bin, empty := filepath.Join(work, "bin"), filepath.Join(work, "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		return "", "", err
	}
	command := exec.Command("go", "install", what)
	command.Dir = empty
	command.Env = append(os.Environ(),
		"GOWORK=off", "GOTOOLCHAIN=local", "GOSUMDB=off", "GONOPROXY=", "GOPRIVATE=", "GOBIN="+bin,
		"GOMODCACHE="+filepath.Join(work, "modules"),
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw -trimpath", // what is built is found in the build cache, wherever it lay
		"GOPROXY="+address(proxy)+","+address(others))
	text, err := command.CombinedOutput()
	if err == nil {
		return bin, "", nil
	}
	for line := range strings.Lines(string(text)) {
		if _, after, found := strings.Cut(line, address(others)+"/"); found && strings.Contains(line, "no such file") {
			lacks, _, _ = strings.Cut(after, ": ")
			return "", lacks, nil
		}
	}
	return "", "", refuse("go install %s: %v\n%s", what, err, text)
}

// address is a folder as a module proxy.
func address(folder string) string {
	slashed := filepath.ToSlash(folder)
	if runtime.GOOS == "windows" {
		slashed = "/" + slashed
	}
	return "file://" + slashed
}

// try asks the installed program for its version and for a plan.
func try(out io.Writer, program, version, work string) error {
	file := filepath.Join(work, "state.yaml")
	if err := os.WriteFile(file, []byte(state), 0o666); err != nil {
		return err
	}
	for _, ask := range []struct {
		args []string
		want string
	}{
		{[]string{"-version"}, "allot " + version + ", library " + version + "\n"},
		{[]string{"plan", file}, start + "\n"},
	} {
		text, err := exec.Command(program, ask.args...).CombinedOutput()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			return refuse("%s was not installed: %v", program, err)
		}
		if err != nil || !strings.Contains(string(text), ask.want) {
			return refuse("the installed program, asked %s, says (%v)\n%swithout %q", strings.Join(ask.args, " "), err, text, ask.want)
		}
	}
	fmt.Fprintf(out, "installable: %s can be installed at %s, and runs\n", filepath.Base(program), version)
	return nil
}
