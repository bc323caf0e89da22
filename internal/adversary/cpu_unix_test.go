//go:build unix

package adversary_test

import (
	"syscall"
	"time"
)

// userTime is the processor time of this process so far.
func userTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano())
}
