package deep_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/deep"
)

func ExampleSeeds() {
	var t testing.T // a test has its own
	for seed := range deep.Seeds(&t, 3) {
		fmt.Println("an instance drawn from seed", seed)
		break
	}
	// Output:
	// an instance drawn from seed 0
}

// clear makes an ordinary run of the test, however this one was started.
func clear(t *testing.T) {
	t.Setenv("ALLOT_DEEP", "")
	t.Setenv("ALLOT_SEED", "")
}

// An ordinary run draws the number that the test names, from the first seed on,
// and an eighth of it, but never none, under -short.
func TestOrdinaryRun(t *testing.T) {
	clear(t)
	want := []uint64{0, 1, 2, 3, 4}
	if testing.Short() {
		want = want[:1]
	}
	if got := slices.Collect(deep.Seeds(t, 5)); !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	t.Setenv("ALLOT_SEED", "7")
	for i := range want {
		want[i] += 7
	}
	if got := slices.Collect(deep.Seeds(t, 5)); !slices.Equal(got, want) {
		t.Errorf("from seed 7: got %d, want %d", got, want)
	}
}

// A deep run goes on until its time is over, and looks at the ordinary number
// even where that takes longer.
func TestDeepRun(t *testing.T) {
	clear(t)
	t.Setenv("ALLOT_DEEP", "20ms")
	begin, n := time.Now(), 0
	for range deep.Seeds(t, 5) {
		n++
		time.Sleep(time.Millisecond)
	}
	if past := time.Since(begin); n <= 5 || past < 20*time.Millisecond {
		t.Errorf("%d instances in %v", n, past)
	}
	t.Setenv("ALLOT_DEEP", "1ns")
	if n := len(slices.Collect(deep.Seeds(t, 5))); n != 5 {
		t.Errorf("%d instances without time", n)
	}
	b := deep.New(t, 3)
	if !b.Deep() || b.Count() != 3 || b.First() != 0 || !b.More(2) || b.More(3) {
		t.Error("the budget without time is not the ordinary one")
	}
}

// A variable that makes no sense fails the test.
func TestBadVariables(t *testing.T) {
	for _, c := range [][2]string{{"ALLOT_DEEP", "5"}, {"ALLOT_DEEP", "-5m"}, {"ALLOT_SEED", "x"}, {"ALLOT_SEED", "-1"}} {
		clear(t)
		t.Setenv(c[0], c[1])
		r := &refused{TB: t}
		func() {
			defer func() { _ = recover() }()
			deep.New(r, 1)
		}()
		if r.text == "" {
			t.Errorf("%s=%s is accepted", c[0], c[1])
		}
	}
}

// A refused test notes why it failed.
type refused struct {
	testing.TB
	text string
}

// Fatal stops the caller, as that of a test does.
func (r *refused) Fatal(args ...any) {
	r.text = fmt.Sprint(args...)
	panic(r.text)
}
