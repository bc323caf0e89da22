package explain

import (
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
)

var remedyNames = [...]string{
	WaitUntil:        "wait-until",
	WaitForLeaving:   "wait-for-leaving",
	SubmitTasks:      "submit-tasks",
	Tolerate:         "tolerate",
	DropSelector:     "drop-selector",
	AcceptModel:      "accept-model",
	DropMinMemory:    "drop-min-memory",
	WiderDomain:      "wider-domain",
	LessMinimum:      "less-minimum",
	LessGroupMinimum: "less-group-minimum",
	ShorterDuration:  "shorter-duration",
	OtherPriority:    "other-priority",
	OtherClass:       "other-class",
	BePreemptible:    "be-preemptible",
	OtherQueue:       "other-queue",
	OtherPool:        "other-pool",
	Uncordon:         "uncordon",
	MoreWorkloads:    "more-workloads",
	MoreQuota:        "more-quota",
	MoreLimit:        "more-limit",
	MoreBorrowing:    "more-borrowing",
	MoreLending:      "more-lending",
	EndOf:            "end-of",
	MoreGPUs:         "more-gpus",
	MoreNodes:        "more-nodes",
}

// String is the kind's text: its name in lower case, with dashes.
func (k RemedyKind) String() string { return prose.Name("RemedyKind", remedyNames[:], k) }

// MarshalText is the text of String; an unknown value is an error.
func (k RemedyKind) MarshalText() ([]byte, error) {
	return prose.MarshalName("remedy kind", remedyNames[:], k)
}

// UnmarshalText takes exactly the texts that MarshalText gives.
func (k *RemedyKind) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("remedy kind", remedyNames[:], k, text)
}

// String is the help in people's words, a line for each remedy (X4):
//
//	q1/train would start with any one of these
//	more-quota: raise the quota of queue q1 from 4 GPUs to 6 GPUs (2 GPUs more); evicts q2/old
//	end-of: the end of workload q2/young
//	20 solves
//
// A workload is its ID.
func (h *Help) String() string {
	var b strings.Builder
	b.WriteString(prose.Word(h.Workload))
	switch {
	case !h.Waits:
		b.WriteString(" does not wait\n")
		return b.String()
	case len(h.Remedies) == 0 && h.Cut:
		b.WriteString(" waits, and no one change or two that were looked at help; not all were\n")
	case len(h.Remedies) == 0:
		b.WriteString(" waits, and no one change helps, nor do two together\n")
	case h.Evicted:
		b.WriteString(" is evicted, and would stay or start again with any one of these\n")
	default:
		b.WriteString(" would start with any one of these\n")
	}
	for i := range h.Remedies {
		b.WriteString(h.Remedies[i].Kind.String() + ": " + h.Remedies[i].String() + "\n")
	}
	b.WriteString(prose.Count(h.Solves, "solve"))
	if h.Cut {
		b.WriteString(", cut: there may be more")
	}
	b.WriteString("\n")
	return b.String()
}

// String is the remedy in people's words, with what it costs (X4), for example
// "raise the quota of queue q1 from 4 GPUs to 6 GPUs (2 GPUs more)".
func (r Remedy) String() string {
	text := r.textOfForm()
	for i := range r.Together {
		text += ", and " + r.Together[i].textOfForm()
	}
	if also := r.Effects.String(); also != "" {
		text += "; " + also
	}
	return text
}

func (r *Remedy) textOfForm() string {
	if r.Form > 0 {
		return "form " + strconv.Itoa(r.Form) + ": " + r.text()
	}
	return r.text()
}

func (r *Remedy) text() string {
	switch r.Kind {
	case WaitUntil:
		return "wait until " + prose.Instant(r.Change.Now) + ", when what may go is protected no more"
	case WaitForLeaving:
		return "wait until what is terminating of " + r.workloads() + " is gone"
	case SubmitTasks:
		return "submit " + prose.Count(r.Amount, "more task") + r.ofPodSet()
	case Tolerate:
		taint := r.Taint.Key
		if r.Taint.Value != "" {
			taint += "=" + r.Taint.Value
		}
		effect := r.Taint.Effect
		if effect == placement.DefaultEffect {
			effect = placement.NoSchedule // which it is
		}
		return "tolerate the taint " + prose.Word(taint) + " (" + effect.String() + ")"
	case DropSelector:
		if e := r.Expression; e != nil {
			return "do not ask for " + strings.TrimSpace(prose.Word(e.Key)+" "+e.Operator.String()+" "+wordList(e.Values))
		}
		return "do not ask for the label " + prose.Word(r.Name)
	case AcceptModel:
		return "accept devices of model " + prose.Word(r.Name)
	case DropMinMemory:
		return "accept devices of less memory"
	case WiderDomain:
		if r.Level == "" {
			return "do not ask for one domain of level " + prose.Word(r.Name)
		}
		return "ask for one domain of level " + prose.Word(r.Level) + " instead of " + prose.Word(r.Name)
	case LessMinimum:
		return "start with at least " + prose.Count(r.To, "task") + r.ofPodSet() + " instead of " + prose.Decimal(r.From)
	case LessGroupMinimum:
		return "let group " + prose.Word(r.Name) + " need " + prose.Decimal(r.To) + " of its parts instead of " + prose.Decimal(r.From)
	case ShorterDuration:
		text := "say that it takes " + prose.Seconds(r.To) + " at most"
		if r.From > 0 {
			text += " instead of " + prose.Seconds(r.From)
		}
		return text
	case OtherPriority:
		return "give it priority " + prose.Decimal(r.To) + " instead of " + prose.Decimal(r.From)
	case OtherClass:
		return "put it into class " + prose.Word(r.Name)
	case BePreemptible:
		return "let it be preemptible"
	case OtherQueue:
		return "submit it to queue " + prose.Word(r.Queue)
	case OtherPool:
		if r.Queue == "" {
			return "submit it to pool " + prose.Word(r.Pool)
		}
		return "submit it to queue " + prose.Word(r.Queue) + " of pool " + prose.Word(r.Pool)
	}
	return r.grantText()
}

// grantText is the text of what others can do.
func (r *Remedy) grantText() string {
	switch r.Kind {
	case Uncordon:
		return "uncordon node " + prose.Word(r.Node)
	case MoreWorkloads:
		return "let queue " + prose.Word(r.Queue) + " run " + prose.Count(r.To, "workload") + " instead of " + prose.Decimal(r.From)
	case MoreQuota:
		return r.raised("quota")
	case MoreLimit:
		return r.raised("limit")
	case MoreBorrowing:
		return r.raised("borrowing limit")
	case MoreLending:
		return r.raised("lending limit")
	case EndOf:
		return "the end of " + r.workloads()
	case MoreGPUs:
		return "add " + prose.Count(r.Amount, "GPU") + ": " + prose.Count(r.Nodes, "node") + " like " + prose.Word(r.Node) + r.inDomain()
	case MoreNodes:
		return "add " + prose.Count(r.Amount, "node") + " like " + prose.Word(r.Node) + r.inDomain()
	}
	return r.Kind.String()
}

func (r *Remedy) raised(what string) string {
	class := ""
	if r.Class != "" {
		class = " of " + prose.Word(r.Class)
	}
	return "raise the " + what + " of queue " + prose.Word(r.Queue) + " from " + prose.Amount(r.Resource, r.From) + class +
		" to " + prose.Amount(r.Resource, r.To) + class + " (" + prose.Amount(r.Resource, r.Amount) + " more)"
}

func (r *Remedy) ofPodSet() string {
	if r.PodSet == "" {
		return ""
	}
	return " of " + prose.Word(r.PodSet)
}

func (r *Remedy) inDomain() string {
	if r.Level == "" {
		return ""
	}
	return " in " + prose.Word(r.Level) + " " + prose.Word(r.Domain)
}

func (r *Remedy) workloads() string {
	return prose.Plural("workload", len(r.Workloads), 1) + " " + wordList(r.Workloads)
}

// String says what else becomes of the change, for example "evicts q2/old; delays
// q2/next"; it is empty if that is nothing.
func (e *Effects) String() string {
	var parts []string
	say := func(what string, ids []string) {
		if len(ids) > 0 {
			parts = append(parts, what+" "+wordList(ids))
		}
	}
	say("evicts", e.Evicted)
	say("moves", e.Moved)
	say("delays", e.Delayed)
	say("also starts", e.Starts)
	say("runs after the end of", lacking(lacking(e.After, e.Evicted), e.Moved)) // those are told
	return strings.Join(parts, "; ")
}

// mostListed is how many names a text lists before it counts the rest.
const mostListed = 8

func wordList(list []string) string { return prose.Some(prose.Each(list), " ", mostListed) }
