package scenario

import "reflect"

// deepCopy is a copy of plain data that shares nothing with it. Fields that
// are not exported (those of times and bounds) are values and copied as such.
func deepCopy[T any](value T) T {
	fresh := value
	separate(reflect.ValueOf(&fresh).Elem())
	return fresh
}

// separate gives v, which may be written to, its own slices, maps and targets
// of pointers.
func separate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				separate(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		for i := range fresh.Len() {
			separate(fresh.Index(i))
		}
		v.Set(fresh)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() { // into a map: the order cannot matter
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			separate(element)
			fresh.SetMapIndex(key, element)
		}
		v.Set(fresh)
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		fresh := reflect.New(v.Type().Elem())
		fresh.Elem().Set(v.Elem())
		separate(fresh.Elem())
		v.Set(fresh)
	}
}
