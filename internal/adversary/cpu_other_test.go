//go:build !unix

package adversary_test

import "time"

var began = time.Now()

// userTime is the time since the process began, where nothing better is known.
func userTime() time.Duration { return time.Since(began) }
