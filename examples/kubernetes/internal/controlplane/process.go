package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A process is a program that runs until it is stopped.
type process struct {
	name    string
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// start starts a program. Its output goes to a file.
func start(name, log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, command: exec.Command(program, args...), log: log, ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = out, out
	p.command.SysProcAttr = dieWithParent()
	began := make(chan error)
	go func() {
		defer close(p.ended)
		defer out.Close()
		// A child dies with the thread that started it: this one waits for it.
		runtime.LockOSThread()
		err := p.command.Start()
		began <- err
		if err == nil {
			_ = p.command.Wait() // how it ended is in its log
		}
	}()
	if err := <-began; err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// stop ends a process, gently at first.
func (p *process) stop(gently bool) {
	if gently {
		_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-p.ended:
			return
		case <-time.After(10 * time.Second):
		}
	}
	_ = p.command.Process.Kill() // the same
	<-p.ended
}

// over says whether a process has ended by itself.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// last is the end of what a process has said.
func (p *process) last() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
