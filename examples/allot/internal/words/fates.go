package words

import "strings"

// fateTexts are the fates of candidates in plain words, by their stable texts.
var fateTexts = map[string]string{
	"taken":           "has to go",
	"moved":           "moves to another place",
	"not-needed":      "not needed, enough others go",
	"place-short":     "where it stands, too little may be taken",
	"place-harms":     "where it stands, better work would have to go",
	"place-loses":     "where it stands, more work would be lost",
	"place-more":      "where it stands, more workloads would have to go",
	"place-later":     "where it stands, others come later in the order",
	"place-node":      "another node comes first",
	"place-moves":     "elsewhere less has to move",
	"min-runtime":     "protected by its minimum runtime",
	"budget":          "protected by a disruption budget",
	"within-line":     "its queue is within what it may keep",
	"protected":       "what its queue may keep covers it",
	"straddling":      "its queue would fall below what it may keep",
	"margin":          "its queue is not more saturated than the other",
	"own-side-full":   "with it there, the other would be beyond its own share",
	"priority":        "its priority is not lower",
	"holds-nothing":   "holds nothing of what is short",
	"same-queue":      "of the same queue",
	"other-queue":     "of another queue",
	"elsewhere":       "stands outside the place that is cleared",
	"immovable":       "cannot move before all of it runs",
	"never-preempted": "never evicted",
	"itself":          "of the new work itself",
}

func Fate(fate string) string {
	if text, ok := fateTexts[fate]; ok {
		return text
	}
	return strings.ReplaceAll(fate, "-", " ")
}
