package words

import (
	"strings"

	"github.com/allotsched/allot"
)

// codeTitles say in a few words what kind of reason it is, by its stable text.
var codeTitles = map[string]string{
	"impossible-node":       "Asks more than a node has",
	"impossible-gang":       "Asks more than the cluster has",
	"impossible-domain":     "Asks more than one part of the network has",
	"impossible-quota":      "Asks more than the guaranteed quota",
	"impossible-limit":      "Asks more than the limit of the queue",
	"not-submitted":         "Not all of it is submitted yet",
	"not-before":            "Its time has not come",
	"leaving":               "Its own tasks are still leaving",
	"claim-held":            "Has its place, which is not free yet",
	"max-workloads":         "The queue runs as many workloads as it may",
	"over-limit":            "The queue is at its limit",
	"over-borrowing-limit":  "The queue may not borrow more",
	"no-quota":              "The guaranteed quota is used up",
	"kept-from-lending":     "What is free is kept for its owner",
	"no-capacity":           "Not enough is free",
	"no-node":               "No single node has room",
	"no-domain":             "No part of the network has room for all of it",
	"gang-short":            "Not all tasks find a place at once",
	"waits-for-leaving":     "Fits when others have left",
	"over-line":             "The queue has its share already",
	"guarantee-cut":         "Quotas exceed the capacity",
	"protected-until":       "What might be taken is protected for a while",
	"budget-spent":          "What might be taken is protected by a budget",
	"saturation-turns":      "Others need what they have as much",
	"larger-than-share":     "Larger than the queue's share",
	"exposes":               "Others would take back what it lets its queue use",
	"taken-back":            "Another would take the places back at once",
	"victims-protected":     "What might be taken is protected by right",
	"victims-short":         "Others may not be asked to leave for it",
	"outranked":             "Somebody stands before it",
	"overtaken":             "Younger ones of its queue run",
	"search-cut":            "The search was cut short",
	"reserved":              "Its place is kept for another",
	"waits-for-reservation": "Has been promised a time and a place",
	"too-late-to-backfill":  "Would end too late to go before what is promised",
	"duration-unknown":      "Nobody knows when it would end",
	"over-held":             "Too much would be idle until it starts",
	"overruns":              "Somebody runs on beyond its expected end",
	"place-gone":            "A promised place is lost",
	"yields":                "A promise gives way to another",
	"promise-changed":       "What a promise depends on has changed",
	"reservation-began":     "Its nodes are reserved for others",
	"behind":                "Another takes the place behind whom it had it",
}

func CodeTitle(c allot.Code) string {
	if title, ok := codeTitles[c.String()]; ok {
		return title
	}
	return UpperFirst(strings.ReplaceAll(c.String(), "-", " "))
}
