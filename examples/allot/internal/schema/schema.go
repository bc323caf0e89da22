// Package schema makes the JSON Schema of the files that the program reads, from the same
// forms that they are read by: an editor that is given it completes names, lists the
// values of enumerations and marks what is no field. What the schema cannot say, that a
// name must be somebody's or that sums must fit, the program's check says.
package schema

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/internal/jsonform"
)

// dialect is the version of JSON Schema.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// State is the schema of a state, in both of its forms, as JSON in lines.
func State() ([]byte, error) {
	m := maker{defs: make(map[string]any)}
	root := m.object(input.StateForm(), true)
	properties := root["properties"].(map[string]any)
	properties["policy"] = m.policy()
	root["$schema"] = dialect
	root["title"] = "The state of a GPU cluster, for allot"
	root["$defs"] = m.defs
	return json.MarshalIndent(root, "", "  ")
}

// A maker collects the definitions of objects by the names of their types.
type maker struct{ defs map[string]any }

// patterns of texts that are amounts: a number and perhaps a unit, as package units
// reads them.
const (
	amountPattern = `^[-+]?[0-9]*\.?[0-9]+ ?[A-Za-z][A-Za-z0-9._/-]*$|^[-+]?[0-9]*\.?[0-9]+$`
	gpuPattern    = `^[0-9]*\.?[0-9]+ ?(GPUs?|gpus?|m|[KMGTPE]i?B?)?$`
)

func (m *maker) value(f *jsonform.Form, object reflect.Type, field string) map[string]any {
	switch f.Kind {
	case jsonform.Pointer:
		return m.value(f.Elem, object, field)
	case jsonform.Object:
		return m.named(f)
	case jsonform.List:
		list := map[string]any{"type": "array", "items": m.value(f.Elem, nil, "")}
		if f.Elem.Type == reflect.TypeFor[allot.Device]() {
			return m.devices(f.Elem)
		}
		return list
	case jsonform.Map:
		return map[string]any{"type": "object", "additionalProperties": m.scalar(f.Elem, input.Measured(object, field))}
	}
	return m.scalar(f, input.Measured(object, field))
}

// named is a reference to the definition of an object.
func (m *maker) named(f *jsonform.Form) map[string]any {
	switch f.Type {
	case reflect.TypeFor[allot.Policy]():
		return m.policy()
	case reflect.TypeFor[allot.GPURequest]():
		return map[string]any{"anyOf": []any{
			m.define(f), map[string]any{"type": "number", "exclusiveMinimum": -1e-9},
			map[string]any{"type": "string", "pattern": gpuPattern},
		}}
	}
	return m.define(f)
}

func (m *maker) define(f *jsonform.Form) map[string]any {
	name := f.Type.Name()
	if _, known := m.defs[name]; !known {
		m.defs[name] = nil // no type holds itself; this is for the order of the work only
		m.defs[name] = m.object(f, false)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// object is an object with its fields and no others.
func (m *maker) object(f *jsonform.Form, document bool) map[string]any {
	properties := make(map[string]any)
	var required []string
	for _, field := range f.Fields {
		if field.Index == jsonform.VersionField {
			properties[field.Name] = map[string]any{"const": 1, "description": "The exact form: bare numbers are in thousandths of GPUs and cores, in bytes and seconds. Without it they are GPUs, cores, bytes and seconds."}
			continue
		}
		value := m.value(field.Form, f.Type, field.Name)
		if text := input.Measured(f.Type, field.Name); text != "" {
			value = maps.Clone(value)
			value["description"] = "An amount " + text + ", bare or with a unit."
		}
		properties[field.Name] = map[string]any{"anyOf": []any{value, map[string]any{"type": "null"}}}
		if !field.Omit && !document {
			required = append(required, field.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// policy is a policy: its fields, the name of a preset, or both.
func (m *maker) policy() map[string]any {
	const name = "Policy"
	if _, known := m.defs[name]; !known {
		m.defs[name] = nil
		for _, pool := range input.StateForm().Fields {
			if pool.Name != "pools" {
				continue
			}
			for _, field := range pool.Form.Elem.Fields {
				if field.Name == "policy" {
					object := m.object(field.Form, false)
					object["properties"].(map[string]any)["preset"] = map[string]any{"enum": input.Presets()}
					m.defs[name] = object
				}
			}
		}
	}
	return map[string]any{"anyOf": []any{map[string]any{"enum": input.Presets()}, map[string]any{"$ref": "#/$defs/" + name}}}
}

// devices are the devices of a node: a number, or entries that may stand for several.
func (m *maker) devices(f *jsonform.Form) map[string]any {
	object := m.object(f, false)
	object["properties"].(map[string]any)["count"] = map[string]any{"type": "integer", "minimum": 0, "maximum": 64}
	m.defs[f.Type.Name()] = object
	ref := map[string]any{"$ref": "#/$defs/" + f.Type.Name()}
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 0, "maximum": 64}, ref,
		map[string]any{"type": "array", "items": ref, "maxItems": 64},
	}}
}

// scalar is a single value; measured says of what it is an amount.
func (m *maker) scalar(f *jsonform.Form, measured string) map[string]any {
	amount := map[string]any{"anyOf": []any{
		map[string]any{"type": "number", "minimum": 0}, map[string]any{"type": "string", "pattern": amountPattern},
	}}
	switch f.Kind {
	case jsonform.Custom: // a bound
		if measured != "" {
			amount["anyOf"] = append(amount["anyOf"].([]any), map[string]any{"const": "unlimited"})
			return amount
		}
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 0}, map[string]any{"const": "unlimited"}}}
	case jsonform.Int:
		if measured != "" {
			return amount
		}
		return map[string]any{"type": "integer"}
	case jsonform.Bool:
		return map[string]any{"type": "boolean"}
	case jsonform.Text:
		values := jsonform.Values(f.Type)
		if absent(f.Type) {
			values = append(values, "")
		}
		return map[string]any{"enum": values}
	case jsonform.Time:
		return map[string]any{"type": "string", "format": "date-time"}
	}
	return map[string]any{"type": "string"}
}

// absent says that the zero value of an enumeration is the empty text.
func absent(t reflect.Type) bool {
	text, ok := reflect.Zero(t).Interface().(interface{ MarshalText() ([]byte, error) })
	if !ok {
		return false
	}
	out, err := text.MarshalText()
	return err == nil && len(out) == 0
}
