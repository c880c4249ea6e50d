package testenv

import "syscall"

// boundToParent lets the kernel kill the child when the test binary ends in any
// way, a panic and kill -9 included.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
