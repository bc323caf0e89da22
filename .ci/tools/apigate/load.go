package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// An api is a package that a user of the module can import.
type api struct {
	types *types.Package
	// name is what the change log calls the package: its path below the
	// module, or the name of the module's root package.
	name string
}

// A loader reads modules from source, without function bodies. The standard
// library is read once for all of them.
type loader struct {
	fset     *token.FileSet
	standard types.Importer
}

func newLoader() *loader {
	fset := token.NewFileSet()
	return &loader{fset, importer.ForCompiler(fset, "source", nil)}
}

// A source is a package as the go command lists it.
type source struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	Module                *struct {
		Path string
		Main bool
	}
}

// load returns the packages of the module in the folder by import path. Main
// packages, internal ones and nested modules are nobody's API.
func (l *loader) load(folder string) (map[string]*api, error) {
	sources, err := list(folder)
	if err != nil {
		return nil, err
	}
	m := &module{loader: l, sources: sources, packages: make(map[string]*types.Package)}
	out := make(map[string]*api)
	for path, s := range sources { // into a map: order cannot matter
		if s.Module == nil || !s.Module.Main || s.Name == "main" || strings.Contains("/"+path+"/", "/internal/") {
			continue
		}
		p, err := m.Import(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, s.Module.Path), "/")
		if name == "" {
			name = p.Name()
		}
		out[path] = &api{p, name}
	}
	return out, nil
}

// list asks the go command for the module's packages and all that they import
// from other modules.
func list(folder string) (map[string]*source, error) {
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Name,GoFiles,Module", "./...")
	command.Dir = folder
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(problem.String()))
	}
	sources := make(map[string]*source)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		s := new(source)
		if err := decoder.Decode(s); errors.Is(err, io.EOF) {
			return sources, nil
		} else if err != nil {
			return nil, err
		}
		if s.Module != nil {
			sources[s.ImportPath] = s
		}
	}
}

// A module type-checks its packages as they are asked for.
type module struct {
	*loader
	sources  map[string]*source
	packages map[string]*types.Package
}

// Import implements [types.Importer].
func (m *module) Import(path string) (*types.Package, error) {
	s, ok := m.sources[path]
	if !ok {
		return m.standard.Import(path)
	}
	if p, ok := m.packages[path]; ok {
		return p, nil
	}
	var files []*ast.File
	for _, name := range s.GoFiles {
		file, err := parser.ParseFile(m.fset, filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: m, IgnoreFuncBodies: true}
	p, err := config.Check(path, m.fset, files, nil)
	if err != nil {
		return nil, err
	}
	m.packages[path] = p
	return p, nil
}
