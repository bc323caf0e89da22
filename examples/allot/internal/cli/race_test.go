//go:build race

package cli

// raceEnabled: times say nothing under the race detector.
const raceEnabled = true
