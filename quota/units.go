package quota

// GPUs is an amount of n whole GPUs, Cores one of n CPU cores, GiB one of n gibibytes of
// memory, each in the unit that a State counts it in: thousandths of a device, thousandths
// of a core, bytes. As a bound it is Of(GPUs(4)); half a GPU is 500, and no float.
//
// They are exact or, where the amount would not fit, [MaxSum] with the sign of n: more
// than a State may give, so that its check refuses it and no sum can wrap.
func GPUs(n int64) int64 { return scaled(n, 1000) }

// Cores is an amount of CPU, see [GPUs].
func Cores(n int64) int64 { return scaled(n, 1000) }

// GiB is an amount of memory, see [GPUs].
func GiB(n int64) int64 { return scaled(n, 1<<30) }

// scaled is n·unit, bounded by MaxSum on both sides. The unit is positive.
func scaled(n, unit int64) int64 {
	switch {
	case n > MaxSum/unit:
		return MaxSum
	case n < -MaxSum/unit:
		return -MaxSum
	}
	return n * unit
}
