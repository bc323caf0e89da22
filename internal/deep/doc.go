// Package deep decides how many instances a test looks at: few enough that
// `go test ./...` ends within minutes, and as many as there is time for when
// `bash .ci/deep` asks for more. Only tests import it.
//
// A test that draws instances from seeds names the number that an ordinary run
// looks at, and takes its seeds from here:
//
//	for seed := range deep.Seeds(t, 1000) {
//		s := draw(seed)
//		...
//	}
//
// With -short an eighth of them is drawn. Two variables of the environment change
// what is drawn, and they are the same for all tests of all packages:
//
//   - ALLOT_DEEP=5m: each test goes on, beyond its number, until it has run for
//     that long, and says in its log how many instances it looked at;
//   - ALLOT_SEED=1234: the first seed, to see a failure again or to look at other
//     instances.
//
// Properties that are written with rapid have their own budget, -rapid.checks; [Main]
// gives them a seed, in every package that has some.
//
// # Invariants
//
// Without the variables, what a test draws depends on nothing but its code, so
// that a run on another machine draws the same. A test never looks at fewer
// instances for having more time. Time is asked for once per instance, so an
// instance must be short against the budget.
package deep
