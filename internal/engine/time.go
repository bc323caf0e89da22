package engine

import "math"

// Never is the time of what has no known end, and the duration of what has no end.
const Never = math.MaxInt64
