package e2e

import (
	"os"
	"syscall"
)

// maxMemory is the most memory that a process had, in bytes.
func maxMemory(s *os.ProcessState) int64 {
	if use, ok := s.SysUsage().(*syscall.Rusage); ok {
		return use.Maxrss << 10
	}
	return 0
}
