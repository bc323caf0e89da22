package web

import "sync/atomic"

// An atomicOnce is true once.
type atomicOnce struct{ did atomic.Bool }

func (o *atomicOnce) first() bool { return o.did.CompareAndSwap(false, true) }
