package prose

// The resources of which an amount is more than a count: GPUs and CPUs are counted
// in thousandths, memory in bytes. All others are counted one by one.
const (
	gpu    = "gpu"
	cpu    = "cpu"
	memory = "memory"
)

// Amount is an amount of a resource with its unit, in a sentence: "2 GPUs",
// "0.5 CPU", "16 GiB", "3 fpga". Without a resource it is the number alone.
func Amount(resource string, n int64) string {
	switch resource {
	case gpu:
		return Thousandths(n) + Plural(" GPU", n, 1000)
	case cpu:
		return Thousandths(n) + Plural(" CPU", n, 1000)
	case memory:
		number, unit := Bytes(n)
		return number + " " + unit
	case "":
		return Decimal(n)
	}
	return Decimal(n) + " " + Word(resource)
}

// Figure is an amount in a table, where the resource stands in a column of its
// own: "2", "0.5", "16GiB", "3".
func Figure(resource string, n int64) string {
	switch resource {
	case gpu, cpu:
		return Thousandths(n)
	case memory:
		number, unit := Bytes(n)
		if unit == "bytes" {
			return number
		}
		return number + unit
	}
	return Decimal(n)
}
