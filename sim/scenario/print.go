package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// printWaits prints who waits, with the first reason or with all of them.
func (w *world) printWaits(f filter, all bool) {
	for i := range w.plan.Pending {
		p := &w.plan.Pending[i]
		if !admits(f.queues, p.Queue) {
			continue
		}
		reasons := p.Reasons
		if !all {
			reasons = reasons[:min(1, len(reasons))]
		}
		texts := make([]string, len(reasons))
		for j := range reasons {
			texts[j] = formatReason(&reasons[j], all)
		}
		w.print("wait " + formatWorkload(p.Queue, p.Workload) + ": " + strings.Join(texts, "; "))
	}
}

// formatReason writes a reason shortly: its code, what it is about, and its
// numbers. Which predicates turned the task away is told with details, or
// where it says for good.
func formatReason(r *allot.Reason, details bool) string {
	l := newLine(r.Code.String())
	if r.Form != 0 {
		l.add("form", strconv.Itoa(r.Form))
	}
	l.flag(quoteQueue(r.Queue), r.Queue != "")
	l.flag(quote(r.Workload), r.Workload != "")
	l.flag(quote(r.Node), r.Node != "")
	l.flag(formatResource(r.Resource, r.Class), r.Resource != "")
	l.flag("set "+quote(r.PodSet), r.PodSet != "")
	if r.Have != 0 || r.Need != 0 {
		l.flag(haveNeed(r.Resource, r.Have, r.Need), true)
	}
	if !r.Until.IsZero() {
		l.flag("until "+formatInstant(r.Until), true)
	}
	for i := range r.Domains {
		d := &r.Domains[i]
		l.flag("best "+quote(d.Level), true)
		l.flag(quote(d.Domain), d.Domain != "")
		l.flag(haveNeed("", d.Have, d.Need), true)
	}
	if details || r.Code == allot.ImpossibleNode {
		for _, c := range r.Nodes {
			text := c.Predicate.String()
			if c.Resource != "" {
				text += "(" + quote(c.Resource) + ")"
			}
			l.flag(fmt.Sprintf("%s:%d", text, c.Nodes), true)
		}
	}
	if !details {
		return l.String()
	}
	if n := r.Nearest; n != nil {
		l.flag("nearest "+quote(n.Node)+" "+n.Predicate.String(), true)
		l.flag(quote(n.Resource), n.Resource != "")
		l.flag(haveNeed(n.Resource, n.Have, n.Need), true)
	}
	for _, one := range r.Protections {
		l.flag("shield "+quoteQueue(one.Queue)+" "+one.By.String(), true)
		l.flag(one.Line.String(), one.Line != 0)
		l.flag(formatInteger(int64(one.Units)), true)
	}
	if s := r.Subtrees; s != nil {
		l.flag("victim "+formatSide(s.Victim, r.Resource), true)
		l.flag("preemptor "+formatSide(s.Preemptor, r.Resource), true)
	}
	for _, t := range r.Chain {
		l.flag("taker "+quote(t.Workload)+" "+t.Code.String(), true)
		if s := t.Subtrees; s != nil {
			l.flag(formatSide(s.Victim, t.Resource)+" for "+formatSide(s.Preemptor, t.Resource), true)
		}
	}
	return l.String()
}

// formatSide writes a side of a reclaim: its use before and after, and its line.
func formatSide(s allot.Subtree, resource string) string {
	amount := func(n int64) string { return formatAmount(resource, n) }
	return quoteQueue(s.Queue) + " " + amount(s.Before) + " then " + amount(s.After) + " of " + amount(s.Entitlement)
}

// haveNeed writes the two numbers in the unit of the resource; without one
// they are counts.
func haveNeed(resource string, have, need int64) string {
	format := formatInteger
	if resource != "" {
		format = func(n int64) string { return formatAmount(resource, n) }
	}
	return "have " + format(have) + " need " + format(need)
}

func formatResource(resource, class string) string {
	if class == "" {
		return quote(resource)
	}
	return quote(resource) + "@" + quote(class)
}

// shareColumns are the figures of a queue by the names under which they are
// asked for, in the order in which they are printed.
var shareColumns = []struct {
	name string
	text func(*allot.Share) string // "" where there is nothing to say
}{
	{"quota", func(s *allot.Share) string { return boundColumn(s, s.Quota) }},
	{"limit", func(s *allot.Share) string { return boundColumn(s, s.Limit) }},
	{"used", func(s *allot.Share) string { return amountColumn(s, s.Used) }},
	{"in-quota", func(s *allot.Share) string { return amountColumn(s, s.InQuota) }},
	{"over-quota", func(s *allot.Share) string { return amountColumn(s, s.OverQuota) }},
	{"non-preemptible", func(s *allot.Share) string { return amountColumn(s, s.NonPreemptible) }},
	{"quota-free", quotaFree},
	{"demand", func(s *allot.Share) string { return amountColumn(s, s.Demand) }},
	{"fair-share", func(s *allot.Share) string { return amountColumn(s, s.FairShare) }},
	{"state", func(s *allot.Share) string { return s.State.String() }},
	{"borrowed", func(s *allot.Share) string { return amountColumn(s, s.Borrowed) }},
	{"lent", func(s *allot.Share) string { return amountColumn(s, s.Lent) }},
	{"reachable", func(s *allot.Share) string { return amountColumn(s, s.Reachable) }},
	{"weight", func(s *allot.Share) string { return prose.Thousandths(s.WeightMilli) }},
	{"adjusted", func(s *allot.Share) string { return prose.Thousandths(s.AdjustedMilli) }},
	{"pool-total", func(s *allot.Share) string { return amountColumn(s, s.PoolTotal) }},
}

// quotaFree is what non-preemptible work may still start (Q2), as [OSMO] lists
// it; not below zero.
func quotaFree(s *allot.Share) string {
	if s.Quota.IsUnlimited() {
		return unlimited
	}
	return amountColumn(s, max(0, s.Quota.Amount()-s.NonPreemptible))
}

func amountColumn(s *allot.Share, n int64) string { return formatAmount(s.Resource, n) }

func boundColumn(s *allot.Share, b quota.Bound) string {
	return formatBound(b, func(n int64) string { return formatAmount(s.Resource, n) })
}

// columnsOf reads a list of columns.
func columnsOf(a arg, text string) ([]string, error) {
	var columns []string
	for _, name := range strings.Split(text, ",") {
		known := false
		for _, c := range shareColumns {
			known = known || c.name == name
		}
		if !known {
			return nil, a.errorf("%q is no figure of a queue", name)
		}
		columns = append(columns, name)
	}
	return columns, nil
}

// printShares prints the figures of the queues: the columns, or all of them.
func (w *world) printShares(f filter, columns []string) {
	for i := range w.plan.Shares {
		s := &w.plan.Shares[i]
		if !admits(f.queues, s.Queue) || !admits(f.resources, s.Resource) {
			continue
		}
		l := newLine("share", quoteQueue(s.Queue), formatResource(s.Resource, s.Class))
		for _, c := range shareColumns {
			told := len(columns) > 0 || s.WeightMilli != 0 || s.AdjustedMilli != 0 || c.name != "weight" && c.name != "adjusted"
			if told && admits(columns, c.name) {
				l.add(c.name, c.text(s))
			}
		}
		w.print(l.String())
	}
}
