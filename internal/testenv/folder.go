//go:build unix

package testenv

import (
	"os"
	"testing"
)

// tempDir is a folder of the test. It is not tb.TempDir, because that lies in a
// folder that another account may not enter, and its name, which contains the
// test's, can be too long for a Unix socket.
func tempDir(tb testing.TB, what string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "flashclaim-"+what+"-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}
