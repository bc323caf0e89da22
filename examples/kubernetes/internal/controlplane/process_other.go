//go:build !linux

package controlplane

import "syscall"

// dieWithParent does not exist here: a program that is killed leaves its children behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
