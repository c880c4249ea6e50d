package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestScripts plays the commands that need no servers.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, testscript.Params{Dir: "testdata/script"}))
}

// TestScriptsOnServices plays the commands that work on Redis and PostgreSQL;
// each script has a database of its own.
func TestScriptsOnServices(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/services/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			env := settings(durableRedis(t).URL(), testenv.Database(t))
			testscript.Run(t, params(t, testscript.Params{Files: []string{file}}, env...))
		})
	}
}

// params adds flashclaim, its environment and our own commands:
//
//	refuses CODE REGEXP PROGRAM ARGS...   ends with the code, says one sentence that matches and nothing else
//	keep NAME                             puts the standard output of the last command into a variable
func params(t *testing.T, p testscript.Params, env ...string) testscript.Params {
	t.Helper()
	bin := filepath.Dir(programPath(t))
	sdl, err := filepath.Abs("../../graph/schema.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	p.Setup = func(e *testscript.Env) error {
		e.Vars = append(e.Vars, env...)
		e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
		e.Setenv("SDL", sdl)
		e.Setenv("SECRET", secret)
		return nil
	}
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"refuses": func(ts *testscript.TestScript, _ bool, args []string) {
			if len(args) < 3 {
				ts.Fatalf("usage: refuses CODE REGEXP PROGRAM ARGS...")
			}
			ts.Check(refusal(args[0], args[1], ts.Exec(args[2], args[3:]...), ts.ReadFile("stdout"), ts.ReadFile("stderr")))
		},
		"keep": func(ts *testscript.TestScript, _ bool, args []string) {
			if len(args) != 1 {
				ts.Fatalf("usage: keep NAME")
			}
			ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
		},
	}
	return p
}

// refusal says how a command's end differs from a proper refusal.
func refusal(code, sentence string, ended error, stdout, stderr string) error {
	var exit *exec.ExitError
	if !errors.As(ended, &exit) {
		return errors.Join(fmt.Errorf("it did not end with %s", code), ended)
	}
	if got := strconv.Itoa(exit.ExitCode()); got != code {
		return fmt.Errorf("it ended with %s, want %s", got, code)
	}
	line, rest, whole := strings.Cut(stderr, "\n")
	if !strings.HasPrefix(line, "flashclaim: ") || !whole || rest != "" || stdout != "" {
		return fmt.Errorf("want one sentence on standard error and nothing else, got %q and on standard output %q", stderr, stdout)
	}
	matches, err := regexp.MatchString(sentence, line)
	if err == nil && !matches {
		err = fmt.Errorf("%q does not match %q", line, sentence)
	}
	return err
}
