package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestNothingElseIsNeeded builds the program without a C compiler and runs it
// where no other program can be found: who has Go has all that dev needs.
func TestNothingElseIsNeeded(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "flashclaim")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "CC=/none", "GOFLAGS=-mod=readonly")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	bare := []string{"PATH=", "FLASHCLAIM_ADDR=127.0.0.1:0"}
	version := testenv.Run(t, program, bare, "version")
	if code := version.Wait(time.Minute); code != 0 || !strings.HasPrefix(version.Output(), "flashclaim ") {
		t.Errorf("version ends with %d: %s", code, version.Output())
	}
	dev := testenv.Run(t, program, bare, "dev")
	dev.WaitFor(time.Minute, "ready url=http://127.0.0.1:")
	if code := dev.Stop(); code != 0 {
		t.Errorf("dev ends with %d: %s", code, dev.Output())
	}
	usage := testenv.Run(t, program, bare, "frobnicate")
	if code := usage.Wait(time.Minute); code != 2 {
		t.Errorf("wrong usage ends with %d", code)
	}
}
