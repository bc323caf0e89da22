package engine

// A World and a Solver are what all steps of a solve work on. The steps themselves are in
// groups, each with a type of its own, so that what belongs together stands together.

// settling has what is held take its place before anything is decided.
type settling struct{ *World }

func (w *World) settling() settling { return settling{w} }

// dividing divides the capacity down the trees of queues, and scores nodes.
type dividing struct{ *World }

func (w *World) dividing() dividing { return dividing{w} }

// reserving has what people have reserved be left to its members.
type reserving struct{ *World }

// closing makes the plan of the difference between two tables.
type closing struct{ *World }

func (w *World) closing() closing { return closing{w} }

// booking keeps the table: who stands where, in which unit. Its transitions are in
// table_steps.go.
type booking struct{ *World }

func (w *World) booking() booking { return booking{w} }

// enqueuing puts workloads into the order, and heads in their way.
type enqueuing struct{ *Solver }

func (s *Solver) enqueuing() enqueuing { return enqueuing{s} }

// preempting makes room: it asks package preempt, and carries out what that proposes.
type preempting struct{ *Solver }

func (s *Solver) preempting() preempting { return preempting{s} }

// reprieving puts back, in place or elsewhere, what was taken.
type reprieving struct{ *Solver }

func (s *Solver) reprieving() reprieving { return reprieving{s} }

// diagnosis tells why somebody waits.
type diagnosis struct{ *Solver }

func (s *Solver) diagnosis() diagnosis { return diagnosis{s} }

// admitting says whom the queues let in at what time.
type admitting struct{ *Solver }

// promising keeps places free for those who are promised them.
type promising struct{ admitting }

func (s *Solver) promising() promising { return promising{admitting{s}} }

// gathering keeps places free for one for whom no time is known.
type gathering struct{ promising }

func (s promising) gathering() gathering { return gathering{s} }

// telling says of promises what became of them, and why.
type telling struct{ promising }

func (s promising) telling() telling { return telling{s} }
