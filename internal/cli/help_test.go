package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flashclaim/flashclaim/internal/config"
)

// commands lists every command with its words.
func commands(of *cobra.Command, words []string) map[string][]string {
	all := map[string][]string{of.CommandPath(): words}
	for _, c := range of.Commands() {
		for path, w := range commands(c, append(words[:len(words):len(words)], c.Name())) {
			all[path] = w
		}
	}
	return all
}

// TestHelp: the help of every command has an example that calls it, and names
// the variable of every setting that it takes.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := (&program{}).root()
	all := commands(root, nil)
	for _, path := range []string{
		"dev", "serve", "work", "all", "migrate up", "migrate status", "token", "voucher create", "voucher list", "voucher show",
		"schema", "version",
	} {
		if _, ok := all["flashclaim "+path]; !ok {
			t.Errorf("there is no command flashclaim %s", path)
		}
	}
	for path, words := range all {
		var out, fault bytes.Buffer
		none := func(string) (string, bool) { return "", false }
		if code := Main(t.Context(), append(words, "--help"), none, &out, &fault); code != 0 || fault.Len() > 0 {
			t.Errorf("%s --help ends with %d and says %q", path, code, fault.String())
		}
		text := out.String()
		_, examples, found := strings.Cut(text, "Examples:\n")
		if examples, _, _ = strings.Cut(examples, "\n\n"); !found || !strings.Contains(examples, path) {
			t.Errorf("the help of %s has no example of it: %q", path, examples)
		}
		cmd, _, err := root.Find(words)
		if err != nil {
			t.Fatal(err)
		}
		settingsAreNamed(t, path, cmd, text)
	}
}

func settingsAreNamed(t *testing.T, path string, cmd *cobra.Command, help string) {
	t.Helper()
	for _, s := range config.Settings() {
		if cmd.Flags().Lookup(s.Flag) == nil {
			continue
		}
		line := regexp.MustCompile(`(?m)^ +--` + s.Flag + ` .*$`).FindString(help)
		if !strings.Contains(line, "("+s.Env+")") || (s.Default != "" && !strings.Contains(line, s.Default)) {
			t.Errorf("the help of %s says %q of --%s", path, line, s.Flag)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s of %s says nothing", f.Name, path)
		}
	})
}

// TestEverySettingHasAFlag: a setting that no command takes would be one that
// nobody can give.
func TestEverySettingHasAFlag(t *testing.T) {
	t.Parallel()
	root := (&program{}).root()
	const workers = "ops-addr" // a process with a server has its own address
	for _, name := range []string{"serve", "all"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range config.Settings() {
			if takes := cmd.Flags().Lookup(s.Flag) != nil; takes == (s.Flag == workers) {
				t.Errorf("%s takes --%s: %v", name, s.Flag, takes)
			}
		}
	}
	work, _, err := root.Find([]string{"work"})
	if err != nil || work.Flags().Lookup(workers) == nil {
		t.Errorf("work does not take --%s, %v", workers, err)
	}
}
