// Package gang says what a workload starts at once, and places it whole or not
// at all (SPEC §6, G1–G4).
package gang
