package engine

// A memo says when something was found to be in vain in a pool, by one of its two epochs:
// it stands until something is freed there, where the search was a proof (O5), or else
// until anything comes or goes, as then the same search comes to the same end. The zero
// memo is of nothing, and stands never.
type memo struct{ freed, changed int64 } // plus one

// untilFreed is a memo of now that stands while nothing is freed.
func (p *Pool) untilFreed() memo { return memo{freed: p.freed + 1} }

// untilChanged is a memo of now that stands while nothing changes.
func (p *Pool) untilChanged() memo { return memo{changed: p.changes + 1} }

// stands says whether what was found is so still.
func (m memo) stands(p *Pool) bool { return m.freed == p.freed+1 || m.changed == p.changes+1 }
