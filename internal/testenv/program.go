//go:build unix

package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program is a child process of a test: a program of ours, started as an
// operator would start it.
type Program struct {
	tb      testing.TB
	process *process
	logPath string
	ended   sync.Once
}

// Run starts the program with more environment (KEY=value) than the test's own.
// It is stopped at the test's end, politely, and its output is logged when the
// test failed.
func Run(tb testing.TB, path string, env []string, args ...string) *Program {
	tb.Helper()
	p := &Program{tb: tb, logPath: filepath.Join(tb.TempDir(), "program.log")}
	var err error
	if p.process, err = startProcess(command{program: path, args: args, env: env, dir: tb.TempDir(), logPath: p.logPath}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if tb.Failed() {
			tb.Logf("%s: %s", strings.Join(args, " "), p.process.lastWords())
		}
	})
	return p
}

// Output is all that the program has written so far, on both streams.
func (p *Program) Output() string {
	p.tb.Helper()
	out, err := os.ReadFile(p.logPath)
	if err != nil {
		p.tb.Fatal(err)
	}
	return string(out)
}

// WaitFor waits until a line of the output contains the text and returns what
// follows it on that line.
func (p *Program) WaitFor(within time.Duration, text string) string {
	p.tb.Helper()
	var rest string
	Eventually(p.tb, within, "the program writes "+text, func() bool {
		_, after, found := strings.Cut(p.Output(), text)
		line, _, whole := strings.Cut(after, "\n")
		rest = strings.TrimSpace(line)
		if !found && p.process.gone() {
			p.tb.Fatalf("the program ended without writing %q: %s", text, p.process.lastWords())
		}
		return found && whole
	})
	return rest
}

// Kill ends the program at once, as a crash would.
func (p *Program) Kill() { p.tb.Helper(); p.end(syscall.SIGKILL) }

// Stop asks the program to end, waits for it, and returns its exit code.
func (p *Program) Stop() int {
	p.tb.Helper()
	p.end(syscall.SIGTERM)
	return p.ExitCode()
}

// Wait waits until the program has ended by itself and returns its exit code.
func (p *Program) Wait(within time.Duration) int {
	p.tb.Helper()
	Eventually(p.tb, within, "the program ends", p.process.gone)
	return p.ExitCode()
}

// ExitCode is how the program ended; -1 for one that was killed.
func (p *Program) ExitCode() int { return p.process.cmd.ProcessState.ExitCode() }

// PID is the process's number.
func (p *Program) PID() int { return p.process.cmd.Process.Pid }

func (p *Program) end(sig syscall.Signal) {
	p.tb.Helper()
	p.ended.Do(func() {
		if err := p.process.end(sig); err != nil {
			p.tb.Error(err)
		}
	})
}
