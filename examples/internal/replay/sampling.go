package replay

import (
	"errors"
	"strconv"

	"github.com/allotsched/allot/sim"
)

// A sampling is one of so many; 0 is none.
type sampling int64

// bySize is one of as many as what it takes to look at one.
const bySize sampling = -1

// String is the text form.
func (s *sampling) String() string {
	switch *s {
	case bySize:
		return "auto"
	case 0:
		return "none"
	case 1:
		return "all"
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set reads the text form.
func (s *sampling) Set(text string) error {
	for _, named := range []sampling{bySize, 0, 1} {
		if text == named.String() {
			*s = named
			return nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return errors.New("must be auto, all, none or a number from 1 on")
	}
	*s = sampling(n)
	return nil
}

// of is one of how many that is for an input, 0 if it is none.
func (s sampling) of(in *sim.Input) int64 {
	if s != bySize {
		return int64(s)
	}
	const least = 100
	size := int64(len(in.Cluster.Nodes))
	for i := range in.Cluster.Nodes {
		size += int64(len(in.Cluster.Nodes[i].Devices))
	}
	return max(size, least)
}
