// Package browser has the tests that open the pages of the program, the report, the
// pictures, those of its server and the playground, in a real browser, at the width of a
// desk and of a phone, light and dark, and look whether what should be seen is there. It is a module of its own for the driver's
// sake. Where there is no Chromium, the test says so and is skipped; CHROME names
// one in a place of its own.
//
//	$ go -C examples/allot/browser test -count=1 . -shots /tmp/shots
//
// leaves pictures of the pages.
package browser
