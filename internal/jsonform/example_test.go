package jsonform_test

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/allotsched/allot/internal/jsonform"
)

type shelf struct {
	Books []string `json:"books,omitempty"`
	Width int      `json:"width"`
}

func Example() {
	form := jsonform.Schema{Version: 1}.Document(reflect.TypeFor[shelf]())
	data, _ := jsonform.Write(form, &shelf{Width: 80})
	fmt.Println(string(data))

	err := jsonform.Read([]byte(`{"version":1,"books":["a",7],"Width":80}`), form, new(shelf))
	var wrong *jsonform.Error
	if errors.As(err, &wrong) {
		for _, f := range wrong.Faults {
			fmt.Println(f)
		}
	}
	// Output:
	// {"version":1,"width":80}
	// books[1]: must be a string, is 7
	// Width: must not be there: no such field, is 80
}
