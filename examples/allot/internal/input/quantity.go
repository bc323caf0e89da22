package input

import (
	"reflect"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/quota"
)

// A measure says of what a field's numbers are amounts.
type measure uint8

const (
	// bare numbers are counts, indices and the like: never amounts.
	bare measure = iota
	// ofResource: the object has the resource's name beside it, as "resource".
	ofResource
	// byKey: each entry is of the resource that is its key.
	byKey
	// ofGPU, ofMemory and ofTime are always of the same.
	ofGPU
	ofMemory
	ofTime
)

// measures are the fields that are amounts, by their names in JSON.
var measures = map[reflect.Type]map[string]measure{
	reflect.TypeFor[allot.QueueResource](): {"quota": ofResource, "limit": ofResource, "borrowingLimit": ofResource, "lendingLimit": ofResource},
	reflect.TypeFor[allot.Node]():          {"capacity": byKey, "foreign": byKey},
	reflect.TypeFor[allot.Request]():       {"resources": byKey},
	reflect.TypeFor[allot.Policy]():        {"granules": byKey, "staleGangGrace": ofTime, "killGrace": ofTime, "usagePeriod": ofTime},
	reflect.TypeFor[allot.Durations]():     {"default": ofTime, "defaultLimit": ofTime, "max": ofTime},
	reflect.TypeFor[allot.ReservePolicy](): {"after": ofTime, "maxHold": ofTime, "ratherWait": ofTime, "horizon": ofTime, "resolution": ofTime},
	reflect.TypeFor[allot.Workload](): {
		"duration": ofTime, "timeLimit": ofTime, "minDuration": ofTime, "fixedWork": ofTime, "workDone": ofTime,
	},
	reflect.TypeFor[allot.MinRuntime](): {"preempt": ofTime, "reclaim": ofTime},
	reflect.TypeFor[allot.Device]():     {"memory": ofMemory, "foreign": ofGPU},
	reflect.TypeFor[allot.GPURequest](): {"memory": ofMemory, "minMemory": ofMemory},
}

// kind is the kind of amounts under a measure, where name is that of the resource.
func (m measure) kind(name string) (units.Kind, bool) {
	switch m {
	case ofResource, byKey:
		return units.Of(name), true
	case ofGPU:
		return units.Of(allot.GPU), true
	case ofMemory:
		return units.Of(allot.Memory), true
	case ofTime:
		return units.Seconds(), true
	}
	return units.Kind{}, false
}

// The forms of the documents that people write. The version is none of their fields:
// it says which form it is.
var (
	schema     = jsonform.Schema{Version: 1, Custom: map[reflect.Type]string{reflect.TypeFor[quota.Bound](): `must be a whole number or "unlimited"`}}
	stateForm  = schema.Document(reflect.TypeFor[allot.State]())
	changeForm = schema.Document(reflect.TypeFor[allot.Change]())
	policyForm = schema.Object(reflect.TypeFor[allot.Policy]())
)

// StateForm and ChangeForm are what the JSON of a state and of a change looks like.
func StateForm() *jsonform.Form { return stateForm }

// ChangeForm is that of a change.
func ChangeForm() *jsonform.Form { return changeForm }

// Measured says of what a field is an amount: a text for people, empty of none.
func Measured(object reflect.Type, field string) string {
	switch measures[object][field] {
	case ofResource, byKey:
		return "of the resource"
	case ofGPU:
		return "of GPUs"
	case ofMemory:
		return "of memory"
	case ofTime:
		return "of time"
	}
	return ""
}
