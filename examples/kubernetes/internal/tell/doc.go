// Package tell says to people and their tools what a scheduler has decided: conditions of
// pods and PodGroups, the status of queues and pools, events, metrics, and pages over HTTP.
//
// It follows at its own pace: at most once a [Reporter.Period], of the newest decision only,
// and only what is otherwise than it was told. A reason that stays the same but for its
// numbers is told again every so often ([Reporter.Refresh], [Reporter.Figures]), and of one round at most
// [Reporter.Most] objects are written. Reasons cost a solve of their own, which is made here
// and keeps nobody waiting.
package tell
