// Package flags reads the command line of the gates that ask for nothing but the repository.
package flags

import (
	"flag"
	"os"
)

// Repo is the folder that -C names, the working directory where nothing does. It ends the
// program with how to call it where anything else is given.
func Repo() string {
	repo := flag.String("C", ".", "the repository's `folder`")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return *repo
}
