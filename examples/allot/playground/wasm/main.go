//go:build js && wasm

// Command wasm is the part of the playground that is compiled to wasm: it puts the
// function allotAsk into the worker that it runs in, a question in JSON to an answer in
// JSON, and then calls allotReady.
package main

import (
	"runtime/debug"
	"syscall/js"

	"github.com/allotsched/allot/examples/allot/internal/play"
)

// memory is what the collector keeps to; the wasm's own limit is above it.
const memory = 320 << 20

func main() {
	debug.SetMemoryLimit(memory)
	desk := &play.Desk{}
	js.Global().Set("allotAsk", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return desk.Ask(args[0].String())
	}))
	js.Global().Call("allotReady")
	select {}
}
