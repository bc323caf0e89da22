package placement

// Effect is what a taint does to tasks that do not tolerate it (P1, with
// the meaning of Kubernetes). The zero value is DefaultEffect. Its text form
// is "", "NoSchedule", "PreferNoSchedule" or "NoExecute".
type Effect uint8

const (
	// DefaultEffect is the absent effect: a taint's is NoSchedule, a
	// toleration's is every effect.
	DefaultEffect Effect = iota
	// NoSchedule turns new tasks away.
	NoSchedule
	// PreferNoSchedule never turns a task away, and this package gives it no
	// weight either: the order of choice knows no preferences but its own.
	PreferNoSchedule
	// NoExecute turns new tasks away. Tasks that run already are the host's
	// concern.
	NoExecute
)

var effectNames = []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}

// Valid reports whether e is one of the constants above.
func (e Effect) Valid() bool { return int(e) < len(effectNames) }

// String returns the text form; DefaultEffect is the empty string.
func (e Effect) String() string { return nameOf("effect", effectNames, uint8(e)) }

// MarshalText returns the text form; a value that is not [Effect.Valid] is an
// error.
func (e Effect) MarshalText() ([]byte, error) {
	return marshalName("effect", effectNames, uint8(e))
}

// UnmarshalText reads the text form; any other text is an error and leaves e
// as it was.
func (e *Effect) UnmarshalText(text []byte) error {
	v, err := unmarshalName("effect", effectNames, text)
	if err == nil {
		*e = Effect(v)
	}
	return err
}

// A Taint keeps off its node every task that does not tolerate it (P1).
type Taint struct {
	Key   string `json:"key"`
	Value string `json:"value,omitzero"`
	// Effect is NoSchedule where absent.
	Effect Effect `json:"effect,omitzero"`
}

// TolerationOperator says how a toleration is compared with a taint. The zero
// value is TolerationEqual. Its text form is "Equal" or "Exists".
type TolerationOperator uint8

const (
	// TolerationEqual needs the taint's key and value to be the toleration's.
	TolerationEqual TolerationOperator = iota
	// TolerationExists needs the key only; with an empty key it tolerates
	// every taint.
	TolerationExists
)

var tolerationOperatorNames = []string{"Equal", "Exists"}

// Valid reports whether o is one of the constants above.
func (o TolerationOperator) Valid() bool { return int(o) < len(tolerationOperatorNames) }

// String returns the text form.
func (o TolerationOperator) String() string {
	return nameOf("toleration operator", tolerationOperatorNames, uint8(o))
}

// MarshalText returns the text form; a value that is not
// [TolerationOperator.Valid] is an error.
func (o TolerationOperator) MarshalText() ([]byte, error) {
	return marshalName("toleration operator", tolerationOperatorNames, uint8(o))
}

// UnmarshalText reads the text form; any other text is an error and leaves o
// as it was.
func (o *TolerationOperator) UnmarshalText(text []byte) error {
	v, err := unmarshalName("toleration operator", tolerationOperatorNames, text)
	if err == nil {
		*o = TolerationOperator(v)
	}
	return err
}

// A Toleration lets a task onto nodes with certain taints (P1, with the
// meaning of Kubernetes). The zero Toleration is faulty ([Toleration.Validate])
// and tolerates nothing but a taint with an empty value.
type Toleration struct {
	// Key is the taint's key; empty is every key and needs TolerationExists.
	Key      string             `json:"key,omitzero"`
	Operator TolerationOperator `json:"operator,omitzero"`
	// Value is compared by TolerationEqual; TolerationExists must not have one.
	Value string `json:"value,omitzero"`
	// Effect is the effect that is tolerated; absent is every one.
	Effect Effect `json:"effect,omitzero"`
}

// Tolerates reports whether t lets its task past the taint.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != DefaultEffect && t.Effect != taint.effect() {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == TolerationExists || t.Operator == TolerationEqual && t.Value == taint.Value
}

// TurnsAway reports whether the taint keeps off a task with these tolerations.
// A taint that only prefers never does.
func (t Taint) TurnsAway(tolerations []Toleration) bool {
	if t.effect() == PreferNoSchedule {
		return false
	}
	for _, toleration := range tolerations {
		if toleration.Tolerates(t) {
			return false
		}
	}
	return true
}

func (t Taint) effect() Effect {
	if t.Effect == DefaultEffect {
		return NoSchedule
	}
	return t.Effect
}
