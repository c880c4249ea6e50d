//go:build unix && !linux

package testenv

import "syscall"

// boundToParent can do nothing here: only Linux ties a child to its parent. A
// killed test binary leaves its servers running.
func boundToParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
