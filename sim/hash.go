package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Hash is the SHA-256 of the input, whatever file it was read from; of nil that of nothing.
func (in *Input) Hash() string {
	h := sha256.New()
	if in == nil {
		return hex.EncodeToString(h.Sum(nil))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	put := func(v any) {
		if err := encoder.Encode(v); err != nil {
			fmt.Fprintln(&text, err) // what JSON cannot hold is told apart by why
		}
		h.Write(text.Bytes())
		text.Reset()
	}
	put(&in.Cluster)
	for i := range in.Jobs {
		put(&in.Jobs[i])
	}
	for i := range in.Changes {
		put(&in.Changes[i])
	}
	return hex.EncodeToString(h.Sum(nil))
}
