package cluster

// An Effort counts what a solve did: it is a [Work] before it is written out, field by
// field.
type Effort struct {
	Turns                      int64
	Searches, Remembered       int64
	Placed                     int64
	Rooms, Candidates, Evicted int64
	Cut                        int64
	Stopped                    bool
}

// A Decision is what was decided, in dense terms, in the order in which it can
// be carried out.
type Decision struct {
	World   *World
	Actions []Action
	Placed  []TaskPlace
	From    []TaskPlace // where moved tasks were, see action.moved
	Work    Effort

	Settled int // actions of the settling that the plan keeps

	// Of the pass at hand: something started; a policy let a workload block
	// others; a refusal was not a proof; something started after such a refusal,
	// or room was made; the orders have to be filled anew.
	Started, Blocked, Unsure, Again, Restart bool
	// Changed: anything changed in the round at hand (M9). Redivided: the capacity was
	// divided anew (S6).
	Changed, Redivided bool
	// SettledAt is the epoch in which the last pass within the entitlements began, see repeats.
	SettledAt int64
	// Promised and NextEnd are what Reservations and NextEnd tell once the world does not know it
	// any more, as kept says.
	Promised []Reservation
	NextEnd  int64
	Kept     bool
	// Number tells apart the decisions of a world that is kept, from 1 on; 0 is one from scratch.
	Number int64
	// Unplain: by the orders that an Incremental keeps it does not tell what is decided.
	Unplain bool
}

// An Action is an Action before it is written out; its tasks are
// decision.placed[from:to].
type Action struct {
	Kind     Kind
	Code     Code
	Form     int16
	Work     int32
	From, To int32
	// Of a solve that made room: Taking is whose case it is, plus one; after
	// are workloads that have to leave first; moved is where decision.from
	// begins for a Move.
	Taking, Moved int32
	After         []int32
	// Of what grows: Commit is the start that it is, plus one, and Replaces the
	// workload whose place it takes, plus one.
	Commit, Replaces int32
	// Cut: it moves in a circle, which begins by its leaving first (M11).
	Cut bool
	// Until is when what starts is ended, which was cut to fit a hole (B1); 0 is of all else.
	Until int64
	// Behind is the workload whose promised places what starts or moves has taken (B6), None if it
	// has taken none.
	Behind int32
	// Final: what is evicted does not wait again (S6).
	Final bool
	// why is told when all is decided; nil where there is nothing to tell.
	Why *Verdict
}

// Add adds an action upon the last of what is placed.
func (d *Decision) Add(kind Kind, code Code, k *Work, i int32, tasks int) {
	to := int32(len(d.Placed))
	d.Actions = AppendMany(d.Actions, Action{Kind: kind, Code: code, Form: k.Current, Work: i, From: to - int32(tasks), To: to})
}

// GiveUp notes that tasks of one workload lost their place or claim.
func (d *Decision) GiveUp(kind Kind, tasks []Holding, code Code) {
	d.addHoldings(kind, tasks, code)
}

// StartClaimed notes that claimed tasks of one workload start (S4).
func (d *Decision) StartClaimed(tasks []Holding) {
	d.addHoldings(Start, tasks, 0)
}

func (d *Decision) addHoldings(kind Kind, tasks []Holding, code Code) {
	for i := range tasks {
		d.Placed = append(d.Placed, tasks[i].TaskPlace)
	}
	k := &d.World.Works[tasks[0].Work]
	d.Add(kind, code, k, tasks[0].Work, len(tasks))
	d.Actions[len(d.Actions)-1].Form = tasks[0].Form
}

// CodeOfStart is the reason of what starts: growth has one (X2).
func CodeOfStart(kind Kind) Code {
	if kind == Resize {
		return Grown
	}
	return 0
}
