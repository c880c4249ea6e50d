//go:build unix

package testenv

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs a package's tests, stops the servers they shared, fails the package
// when a goroutine is left over, and exits:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv: stop the shared PostgreSQL:", err)
		code = 1
	}
	births.close()
	// A failed test may have left anything behind; its own message says more.
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "testenv: the tests passed but left goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}
