//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopWithin bounds a polite end; after it the process is killed.
const stopWithin = 20 * time.Second

// process is a running child. Its output goes to a file, because a pipe would
// need a goroutine that reads it.
type process struct {
	cmd     *exec.Cmd
	logPath string
	exited  chan struct{} // closed when the child is gone and reaped
}

// command says what to start.
type command struct {
	program string
	args    []string
	dir     string // working directory
	logPath string // where its output is appended
	user    *user  // nil: as the test itself
	env     []string
}

// startProcess starts a child that dies with the test binary. The error names
// the program.
func startProcess(c command) (*process, error) {
	out, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has its own descriptor
	cmd := exec.Command(c.program, c.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, out, out
	// Messages are searched for words, so they must be English.
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), c.env...)
	cmd.SysProcAttr = boundToParent()
	if c.user != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.user.uid, Gid: c.user.gid}
	}
	if err := births.start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.program, err)
	}
	p := &process{cmd: cmd, logPath: c.logPath, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is told by its log
		close(p.exited)
	}()
	return p, nil
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end sends the signal and waits until the process is gone. A process that
// ignores the signal is killed, and that is an error.
func (p *process) end(sig syscall.Signal) error {
	// A paused process hears nothing but SIGKILL.
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.NewTimer(stopWithin)
	defer late.Stop()
	select {
	case <-p.exited:
		return nil
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("it ignored %s for %s and was killed: %s", sig, stopWithin, p.lastWords())
	}
}

// lastWords are the end of the log, to explain a failure.
func (p *process) lastWords() string {
	const enough = 2000
	log, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(log[max(0, len(log)-enough):]))
}

func (p *process) portTaken() bool {
	return p.gone() && strings.Contains(p.lastWords(), "Address already in use")
}

// births starts all children from one thread that lives as long as they do:
// Linux sends the parent-death signal when the starting thread ends, not the
// process, and Go ends threads when it likes.
var births = &birthplace{}

type birthplace struct {
	mu   sync.Mutex
	jobs chan func()
	done chan struct{}
}

func (b *birthplace) start(cmd *exec.Cmd) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		b.jobs, b.done = make(chan func()), make(chan struct{})
		go b.run(b.jobs, b.done)
	}
	result := make(chan error)
	b.jobs <- func() { result <- cmd.Start() }
	return <-result
}

func (b *birthplace) run(jobs <-chan func(), done chan<- struct{}) {
	defer close(done)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for job := range jobs {
		job()
	}
}

// close ends the thread; all children must be gone.
func (b *birthplace) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs == nil {
		return
	}
	close(b.jobs)
	<-b.done
	b.jobs, b.done = nil, nil
}
