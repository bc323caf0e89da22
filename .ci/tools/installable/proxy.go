package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// read reads the go.mod of a folder.
func read(folder string) (*modfile.File, error) {
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, text, nil)
}

// required is the version of the library that the program's go.mod requires, which is the
// one at which both are published together.
func required(program *modfile.File, library string) (string, error) {
	if len(program.Replace)+len(program.Exclude) > 0 {
		return "", refuse("%s has replace or exclude directives, and go install refuses those", program.Syntax.Name)
	}
	for _, r := range program.Require {
		if r.Mod.Path == library {
			return r.Mod.Version, nil
		}
	}
	return "", refuse("%s does not require %s", program.Syntax.Name, library)
}

// publish writes the module in the folder into a proxy's folder, as it would be served.
func publish(proxy, folder string, mod module.Version) error {
	escaped, err := module.EscapePath(mod.Path)
	if err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": mod.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := zip.CreateFromDir(&packed, mod, folder); err != nil {
		return refuse("%s cannot be packed: %v", mod, err)
	}
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":                []byte(mod.Version + "\n"),
		mod.Version + ".info": info,
		mod.Version + ".mod":  goMod,
		mod.Version + ".zip":  packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
