package engine

// A World and a Solver are what all steps of a solve work on. The steps themselves are in
// groups, each with a type of its own, so that what belongs together stands together.

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
