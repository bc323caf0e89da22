// Package scenario reads and runs scenarios: a cluster, what happens on it and
// what must be decided, as a text that one can write by hand. The worked
// examples of the scheduling rules (RULES.md) are such texts (testdata of the
// module's root), and [Format] turns any state into one, which makes it the form of a
// bug report.
//
//	# O8: LOW does not count towards quota.
//	policy preset=osmo
//	nodes n0 gpu=4
//	queue q quota=2
//	run q/l1 low gpu=1 | run q/l2 low gpu=1
//	submit q/n1 normal gpu=1 | submit q/n2 normal gpu=1
//	solve shares=used,non-preemptible,borrowed
//	----
//	start q/n1 n0[2]
//	start q/n2 n0[3]
//	share q gpu used=4 non-preemptible=2 borrowed=2
//
// # Form
//
// The form is told here in words and by [Grammar] exactly, in EBNF: the file
// grammar.ebnf beside this one. A text of the grammar may still be refused for what
// it means where it stands.
//
// A text is blocks of statements. A block may end with the line "----"; what
// stands from there to the next blank line, or the end, is the output that the
// block must print. The blocks work on one state, one after the other. A
// statement is a line; several on a line are parted by "|". A word that begins
// with "#" comments out the rest of its line; the first comment is the title.
//
// The words of a statement are its name, mostly what it is about, and its
// arguments: key=value, or a key alone. An argument that a statement does not
// know, or that is given twice though it is no list, is an error with its line
// and column.
//
//	NAME    bare, or quoted as a Go string where it is empty or holds a space, a
//	        control character, two dots together or one of "|,:=@[]#
//	NAMES   NAME,NAME,… in which n8..n11 is n8,n9,n10,n11
//	QUEUE   a NAME in which slashes are allowed: d/p
//	WORK    QUEUE/NAME, or NAME without a queue; lists and ranges in the name
//	AMOUNT  of gpu and cpu in whole units, three decimals at most; of others
//	        in the resource's unit, with Ki, Mi, Gi, Ti, Pi or Ei. Exact.
//	BOUND   AMOUNT, unlimited, or none (absent)
//	TIME    seconds since the epoch of the scenario (2000-01-01 UTC), or with
//	        ns, us, ms, s, m, h or d; RFC 3339; or unset
//	PAIR    KEY:VALUE, a label
//	EXPR    KEY:OPERATOR[:VALUE,…] with the operators In, NotIn, Exists,
//	        DoesNotExist, Gt and Lt
//	PLACE   NODE or NODE[0-3,5]; without devices the lowest that are free
//	FLAG    the key alone or =yes is true, =no is false
//
// # The cluster
//
//	levels NAME,…      the levels of the topology, the widest first; none for none
//	nodes NAMES …      make nodes, or change those that exist:
//	  gpu=N model=NAME gpumem=AMOUNT       N devices of one kind
//	  devices=NxMODEL:MEMORY,…             devices of several kinds
//	  unhealthy=0,3-5  foreign.gpu=0-1,2:0.5   what is said of single devices, or none
//	  LEVEL=NAME                           the domain at a level that is listed;
//	                                       none takes it away. domain.LEVEL=NAME
//	                                       where the level could be misread
//	  hardware=NAME                        how its devices are joined; none
//	  sockets=0-3:1,4-7:2 switches=…       the number of each device's
//	  links=A-B:N,…                        pairs of devices with other NVLinks
//	                                       than the hardware's; 0 is down
//	  cpu=AMOUNT memory=AMOUNT res.NAME=AMOUNT
//	  foreign.cpu=AMOUNT … slots=N foreign.slots=N
//	  label=PAIR taint=KEY[=VALUE][:EFFECT] class=NAME rank=N
//	  FLAG cordoned, lost
//	lose, restore NODES        nodes, or devices of them: lose n0[2-3]
//	cordon, uncordon NODES
//	pool NAMES [nodes=NAMES] [where=PAIR] [where.expr=EXPR]
//	  a lone where is the selector that matches every node;
//	  max-tasks=N max-tasks-per-workload=N bound what a host takes
//	policy [pool=NAME] [preset=NAME] KNOB=VALUE …
//	  presets osmo, runai, runai20, determined-fair-share,
//	  determined-priority and none; knobs are the fields of [allot.Policy] by
//	  their JSON names in kebab case; class=NAME:PRIORITY[:non-preemptible]
//	  adds or changes a class and granule.RESOURCE=AMOUNT sets a granule.
//	  min-runtime.preempt, min-runtime.reclaim and stale-gang-grace take a
//	  BOUND in seconds; exit=CODE:ACTION adds or changes an exit action, to
//	  reschedule or to fail. Without a pool it makes one, named default, of all
//	  nodes. scoring.KNOB=VALUE sets a field of [allot.Scoring], reserve.KNOB=VALUE
//	  one of [allot.ReservePolicy], durations.KNOB=SECONDS one of [allot.Durations].
//	  SECONDS are whole, in s, m, h or d where that is said.
//	mix [pool=NAME] N …        adds a shape of weight N to its mix, with what
//	                           a task asks as in submit; mix none takes all away
//	queue QUEUES …     make queues, or change those that exist; d/p lies below
//	                   d unless parent=QUEUE says otherwise:
//	  quota=BOUND limit=BOUND borrow=BOUND lend=BOUND weight=BOUND tier=N
//	  usage=USED/CAPACITY                  what it has used (F6)
//	  cpu.quota=BOUND …  gpu@H100.quota=BOUND …   other resources, classes
//	  max-workloads=BOUND created=TIME pool=NAME, and nodes, where, where.expr
//	  min-runtime.preempt=BOUND min-runtime.reclaim=BOUND    in seconds
//	  durations.default=SECONDS durations.default-limit=SECONDS durations.max=SECONDS
//	reserve NAMES [from=TIME] [until=TIME] [queue=QUEUE] [workloads=NAME,…]
//	  [evict] [drain] [lend] [devices=DEVICES@LEVEL:DOMAIN,…] [on PLACE …]
//	                                      what people reserve; without queue and
//	                                      workloads for nobody: maintenance. Without
//	                                      a DOMAIN so many devices of each
//	budget NAMES min-running=N           disruption budgets of owners
//	remove nodes|queue|pool|budget|reservation NAMES
//	revision NAME
//	now TIME           set Now, which follows the clock until this is said
//	reset              begin with an empty state
//
// # The work
//
//	submit WORK …      make workloads that wait:
//	  CLASS or class=NAME, priority=N, preemptible, non-preemptible
//	  at=TIME          submitted then; else one second after the one before,
//	                   so that the order of statements is age
//	  preemption=by-class|preemptible|non-preemptible
//	  strategy=NAME pool=NAME FLAG ending
//	  owner=NAME checkpoint=TIME partial-since=TIME
//	  retries=BOUND exit=CODE:reschedule exit=CODE:fail
//	  leaving-form=N                       what is leaving is of another form
//	  for=SECONDS limit=SECONDS            expected duration, and hard limit
//	  work=SECONDS done=SECONDS            fixed work in task-seconds
//	  not-before=TIME start-by=TIME end-by=TIME waiting-since=TIME
//	  tasks=N min=N missing=N              the pod set; one task if not given
//	  step=by-one|halving
//	  gpu=2 or gpu=0.5 or gpu=2x0.5; gpumem=10Gi or gpumem=2x10Gi
//	  model=NAME,… min-gpumem=AMOUNT cpu=AMOUNT memory=AMOUNT res.NAME=AMOUNT;
//	  model=none takes the models away
//	  island=KIND prefer-island=KIND       nvlink, switch, socket or any
//	  selector=PAIR expr=EXPR toleration=KEY[=VALUE][:EFFECT], KEY * for any
//	  set=NAME …       another pod set; in=GROUP puts it into a group
//	  group=NAME[:MIN[:PARENT]]            a group of pod sets or groups
//	  require=LEVEL prefer=LEVEL mode=pack|balance|spread   the constraint of
//	                   what was named last: a set, a group, a form, or else the
//	                   workload. none takes a level away; the narrowest is node
//	  slices=SIZE@LEVEL,…                  slices of the pod set, the widest first
//	  or [queue=QUEUE] …                   another form, in order of preference
//	change WORK …      change arguments of workloads; set=NAME turns to a pod set,
//	                   group=NAME to a group
//	promise WORK [start=TIME] [entitled] [form=N] [waits-for=NAME,…]
//	  [made=TIME] [first=TIME] [on SEAT …]   what it has been promised; none takes it away
//	run WORK … [since=TIME] [started=TIME] [behind=NAME] [form=N] [only=N] [on SEAT …]
//	claim WORK …       as run, but the places are claimed
//	terminate WORK … on SEAT …             as run, but they are leaving
//	terminate WORK [ending]                what runs leaves; ending: for good
//	  run and claim make the workload if there is none, with the arguments of
//	  submit. A SEAT is [SET][:INDEX]@PLACE or PLACE; what it leaves open is
//	  the next task without a place. Without 'on' all tasks, or the first
//	  'only' ones, go to the first node in the order of the state that takes
//	  them. Without since a workload that is made holds its places since it was
//	  submitted, and one that exists since a second after what was said before:
//	  the order of statements is the order of admission.
//	left [WORK …]      what was leaving has left
//	finish WORK …      the workloads have ended and are gone
//
// # Deciding
//
//	solve [quiet] [PART …]   decide and print the actions, unless quiet:
//	  waits            who waits, each with the first of its reasons
//	  reasons          the same with all of them, in full
//	  shares[=COLUMN,…]  the figures of the queues
//	  warnings
//	  promises         what is promised to whom, and what is taken back
//	  next             when a solve could decide otherwise with nothing changed
//	  queue=QUEUES resource=NAMES          print only of these
//	waits, reasons, promises, next, shares [COLUMN …]      the same parts of the last solve
//	apply [skip=N,…]   the last solve carried out in full, but for the actions
//	                   of these numbers, counted from 0
//	begin [skip=N,…]   the last solve set going: what it evicts is leaving, what
//	                   starts there claims its places
//	check              the faults of the state, or "valid"
//	state              the state as statements ([Format])
//
// The columns are quota, limit, used, in-quota, over-quota, non-preemptible,
// quota-free, demand, fair-share, state, borrowed, lent, weight, adjusted (by usage),
// reachable and pool-total.
//
// # Output
//
//	start q/w n0[0-7] n1[0-7]        also resize, displace and unclaim
//	start q/w leader@n0[0] workers:2@n1[0]
//	start q2/wf5 n0[2] after q1/wf3,q1/wf4         also resize and move
//	start q2/wf7 n0[3] behind q2/wf6
//	evict q1/wf3 n0[2] for q2/wf5 reclaim-quota q1 gpu 3 of 2
//	shrink q1/wf3 1@n0[1] for q2/wf5 reclaim-share q1 gpu 3 of 2
//	evict q1/wf3 n0[2] for q1/wf6 preempt ends FAILED_PREEMPTED 3006
//	evict q1/wf3 n0[2] for q1/wf6 preempt exits FAILED_PREEMPTED 3006 checkpoint
//	evict q1/wf7 n0[0] stale-gang have 1 need 2
//	move q1/wf3 n0[2] -> n1[0] for q2/wf5 consolidate
//	unclaim q1/wf3 n0[2] for q1/wf6 preempt
//	displace q/w n0[0]: node-lost n0               also unclaim
//	no action
//	wait q/w: no-quota q gpu have 0 need 1
//	wait q/w: protected-until have 0 need 2 until 60s
//	promise q/w made start=36000s n0[0-1] after q/a
//	promise q/w withdrawn start=36000s n0[0-1]: over-limit q gpu have 0 need 2
//	next 36000s
//	share q gpu used=4 borrowed=2
//	fault CODE PATH: …
//
// Places are written as SEATs: an index is left out where it is one above that
// of the place before it in the pod set, or 0. Amounts are written as they are
// read. A reclaim tells the victim's side, its use before and its quota or fair
// share. An evicted workload that ends says so, one that waits again says with
// what it exits if that is given, and either whether it is saved first. Behind
// 'for' and 'after' a workload is named as in statements, elsewhere with the
// queue that it is charged to.
//
// # Reporting
//
// [Minimise] takes away from a state all that a surprising plan does not hang on,
// and [Report] writes what is left as a scenario with what it prints: the few
// lines in which to report it. [Text] is Format that says what it cannot tell.
//
// # Laws
//
// Every solve is also put to the laws that hold for each state: Solve does not
// modify it and comes to rest; the order of its lists, the names of things and
// the scale of the weights do not matter; an added empty queue takes nothing;
// [verify.Plan] finds the plan lawful; once it is applied nothing is left to
// do, for the same reasons; once it is begun nothing but claims starts, in
// whatever order the victims leave, and in the end the same runs in the same
// places; state and plan survive JSON. A plan that the cap of evictions or a
// bound of the search may have cut is held to less: going on comes to rest. A
// violation is printed, so that it fails the scenario. The laws cost about nine
// more solves, and up to thirteen beyond where work leaves; [Options] can leave
// them out.
package scenario
