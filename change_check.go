package allot

// bounds are what a snapshot keeps of the checks that look at the whole state.
type bounds struct{}

func boundsOf(*nouns) bounds { return bounds{} }

// checkChange checks the state that a change has come to.
func checkChange(before, after *nouns, known bounds) (bounds, error) {
	return boundsOf(after), Check(after.state())
}
