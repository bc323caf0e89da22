package importer

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"

	"github.com/allotsched/allot"
)

// kubeQuantity is the form of amounts in Kubernetes: a number with an exponent or a unit.
var kubeQuantity = regexp.MustCompile(`^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?$`)

// kubeUnits are its units, by what they multiply with.
var kubeUnits = map[string]*big.Rat{
	"": big.NewRat(1, 1), "n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
}

// quantity is an amount of a resource in the library's unit. What is finer is rounded up, as
// Kubernetes does.
func quantity(resource string, raw json.RawMessage) (int64, error) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
	}
	parts := kubeQuantity.FindStringSubmatch(text)
	if parts == nil || len(text) > 64 {
		return 0, fmt.Errorf("%.40q is no amount of Kubernetes", text)
	}
	n, _ := new(big.Rat).SetString(parts[1]) // it has the form of a number
	if parts[2] != "" {
		ten, _ := strconv.Atoi(parts[2]) // it has two digits
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(ten, -ten))), nil))
		if ten < 0 {
			power.Inv(power)
		}
		n.Mul(n, power)
	}
	n.Mul(n, kubeUnits[parts[3]])
	if resource == allot.CPU || resource == allot.GPU {
		n.Mul(n, big.NewRat(1000, 1))
	}
	whole, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if n.Sign() < 0 || !whole.IsInt64() || whole.Int64() > allot.MaxAmount {
		return 0, fmt.Errorf("%.40q is out of range", text)
	}
	return whole.Int64(), nil
}
