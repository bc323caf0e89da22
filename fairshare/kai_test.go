package fairshare_test

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

//go:embed testdata/kai.table
var kaiTable string

// A publishedRow is a line of testdata/kai.table, whose head says what it holds.
type publishedRow struct {
	name     string
	granule  int64
	capacity int64
	queues   []fairshare.Queue
	shares   []int64
	here     []int64  // where RunAI's knobs give others
	rules    []string // why
}

// TestPublishedShares: the shares that KAI-Scheduler's tests state are those of a group (F2,
// F3, F5), and with RunAI's knobs too but where a rule of ours says otherwise.
func TestPublishedShares(t *testing.T) {
	rows := publishedRows(t)
	if len(rows) < 63 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var claims []fairshare.Claim
			for _, q := range row.queues {
				claims = append(claims, fairshare.Claim{
					Quota: q.Quota, Requestable: min(q.Limit, q.Demand.Preemptible), Weight: q.Weight, Tier: q.Tier, Created: q.Created,
				})
			}
			shares, err := fairshare.Divide(nil, row.capacity, claims, fairshare.Options{Granule: row.granule})
			if err != nil || !slices.Equal(shares, row.shares) {
				t.Errorf("a group has %v, error %v; published are %v", shares, err, row.shares)
			}
			c := fairshare.TreeConfig{Capacity: row.capacity, Queues: row.queues, ScaleGuarantees: true}
			c.Granule, c.EqualAtZeroWeight = row.granule, true
			divided, err := fairshare.DivideTree(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, one := range divided {
				got = append(got, one.FairShare)
			}
			want := row.shares
			if row.here != nil {
				want = row.here
			}
			if !slices.Equal(got, want) {
				t.Errorf("RunAI's knobs give %v, want %v", got, want)
			}
			for _, rule := range row.rules {
				if !mattersHere(t, rule, c, row) {
					t.Errorf("%s does not matter", rule)
				}
			}
		})
	}
}

// mattersHere says whether a rule makes a difference to a row.
func mattersHere(t *testing.T, rule string, c fairshare.TreeConfig, row publishedRow) bool {
	switch rule {
	case "F1":
		return slices.Max(row.shares) > row.capacity
	case "F4":
		c.EqualAtZeroWeight = false
	case "F13":
		c.ScaleGuarantees = false
	default:
		return false
	}
	divided, err := fairshare.DivideTree(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(divided, func(one fairshare.Share) bool { return !slices.Contains(row.here, one.FairShare) })
}

// publishedRows reads the table.
func publishedRows(t *testing.T) (rows []publishedRow) {
	t.Helper()
	for line := range strings.Lines(kaiTable) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, rest, _ := strings.Cut(line, ": ")
		queues, outcome, _ := strings.Cut(rest, " -> ")
		shares, here, differs := strings.Cut(outcome, " ; here ")
		words := strings.Fields(head)
		row := publishedRow{name: words[0] + " " + words[1], granule: 1}
		scale := int64(1)
		if words[0] == "gpu" {
			row.granule, scale = 1000, 1000
		}
		row.capacity = published(t, words[2], scale)
		for i, text := range strings.Fields(queues) {
			of := strings.Split(text, "/")
			row.queues = append(row.queues, fairshare.Queue{
				Parent: -1, Created: int64(i), Quota: published(t, of[0], scale), Weight: published(t, of[1], 1), Limit: published(t, of[2], scale),
				Demand: fairshare.Demand{Preemptible: published(t, of[3], scale)}, Tier: int32(published(t, of[4], 1)),
			})
		}
		row.shares = publishedShares(t, shares, scale)
		if differs {
			here, rules, _ := strings.Cut(here, " by ")
			row.here, row.rules = publishedShares(t, here, scale), strings.Fields(rules)
		}
		rows = append(rows, row)
	}
	return rows
}

func publishedShares(t *testing.T, text string, scale int64) (shares []int64) {
	t.Helper()
	for _, one := range strings.Fields(text) {
		shares = append(shares, published(t, one, scale))
	}
	return shares
}

// published reads an amount with up to three digits behind the point.
func published(t *testing.T, text string, scale int64) int64 {
	t.Helper()
	if text == "-" {
		return fairshare.Unlimited
	}
	whole, parts, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole+(parts + "000")[:3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * scale / 1000
}
