package allot

// desks are where decisions are prepared.
type desks struct{}
