package preempt

import "github.com/allotsched/allot/fairshare"

// Entitlements are what queues may defend (R8), by queue × resources + resource, in
// the resource's unit.
type Entitlements struct {
	// Guaranteed is LQ, Fair is LF.
	Guaranteed, Fair []int64
}

// An EntitlementClaim is what one queue brings to DivideEntitlements for one resource.
type EntitlementClaim struct {
	// Parent is the queue above, −1 at the top.
	Parent int32
	// Quota is the queue's quota after Q1's defaults, 0 where the method of
	// division knows none; Requestable and FairShare are the division's.
	Quota, Requestable, FairShare int64
	// Created breaks ties as in [fairshare.Claim].
	Created int64
}

// DivideEntitlements returns LQ and LF, the guaranteed and the fair amount, of every queue for one resource (R8). Parents may
// stand anywhere. The granules are by queue: that in which its sibling group divides
// (F5). The error is that of [fairshare.Divide]. O(n log n).
func DivideEntitlements(queues []EntitlementClaim, granules []int64) (quota, share []int64, err error) {
	n := len(queues)
	quota, share = make([]int64, n), make([]int64, n)
	children := make([][]int32, n+1) // by parent + 1
	for q := range queues {
		children[queues[q].Parent+1] = append(children[queues[q].Parent+1], int32(q))
	}
	for todo := [][]int32{children[0]}; len(todo) > 0; todo = todo[1:] {
		group := todo[0]
		if err := drawGroup(queues, group, granules[group[0]], quota, share); err != nil {
			return nil, nil, err
		}
		for _, q := range group {
			if len(children[q+1]) > 0 {
				todo = append(todo, children[q+1])
			}
		}
	}
	return quota, share, nil
}

// drawGroup draws the lines of one sibling group whose parent's are drawn.
func drawGroup(queues []EntitlementClaim, group []int32, granule int64, quota, share []int64) error {
	parts, total := make([]int64, len(group)), int64(0)
	for i, q := range group {
		parts[i] = min(queues[q].Quota, queues[q].Requestable)
		total = addUpTo(total, parts[i])
	}
	byQuota, byShare := parts, parts
	if parent := queues[group[0]].Parent; parent >= 0 {
		var err error
		if byQuota, err = cutTo(queues, group, parts, total, quota[parent], granule); err != nil {
			return err
		}
		if byShare, err = cutTo(queues, group, parts, total, share[parent], granule); err != nil {
			return err
		}
		if total > share[parent] {
			for i, q := range group {
				quota[q], share[q] = byQuota[i], max(byQuota[i], byShare[i])
			}
			return nil
		}
	}
	for i, q := range group {
		quota[q], share[q] = byQuota[i], max(byQuota[i], queues[q].FairShare)
	}
	return nil
}

// cutTo divides what the parent may defend among the children in proportion to
// quota, nobody above its part, where the parts sum to more.
func cutTo(queues []EntitlementClaim, group []int32, parts []int64, total, most, granule int64) ([]int64, error) {
	if total <= most {
		return parts, nil
	}
	claims := make([]fairshare.Claim, len(group))
	for i, q := range group {
		claims[i] = fairshare.Claim{
			Requestable: parts[i], Weight: queues[q].Quota, Created: queues[q].Created,
		}
	}
	return fairshare.Divide(nil, most, claims, fairshare.Options{Granule: granule})
}

// addUpTo returns a + b, for a, b ≥ 0, or the largest int64.
func addUpTo(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}
