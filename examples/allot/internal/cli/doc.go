// Package cli is the commands of the program: what each is called, its arguments and
// flags, and how its answer is put together from the packages beside this one.
//
// Every command is a function that makes it for a [Session], and stands in the list
// [commands]. A session knows where input comes from and how answers are written, so
// a command neither opens a file nor looks at a format. A command returns its error;
// [Main] prints it and chooses the exit code (see exit.go).
package cli
