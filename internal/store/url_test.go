package store

import (
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestNewRefusesABadURL(t *testing.T) {
	t.Parallel()
	for _, rawURL := range []string{
		"", "mysql://u:hunter2@h/db", "postgres", "hunter2",
		"postgres://u:hunter2@h:99999999/db", "postgres://u:hunter2#x@h:port/db", "postgres://u:hunter2@h:5432x/db",
		"postgres://u:hunter2@h/db?sslmode=hunter2", "postgres://h/db?password=hunter2&connect_timeout=hunter2",
		"sqlite:", "sqlite::memory:",
	} {
		a, err := New(rawURL, Options{})
		if err == nil {
			t.Errorf("%q was accepted", rawURL)
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if message := err.Error(); strings.Contains(message, "hunter2") || strings.Contains(message, "\n") {
			t.Errorf("%q: %q shows the password or is not one sentence", rawURL, message)
		}
	}
}

func TestNewDoesNoIO(t *testing.T) {
	t.Parallel()
	for _, rawURL := range []string{
		"postgres://u:p%40ss@nowhere.invalid:5432/db", "postgresql://u@nowhere.invalid/db?connect_timeout=1",
		"sqlite:/no/such/folder/file.db",
	} {
		open(t, rawURL)
	}
}

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	a := open(t, testenv.Database(t)+"&lock_timeout=50")
	for setting, want := range map[string]string{
		"application_name": "flashclaim", "statement_timeout": "10s", "lock_timeout": "50ms",
		"default_transaction_isolation": "read committed",
	} {
		var got string
		if err := a.db.QueryRowContext(t.Context(), "SHOW "+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, error %v, want %q", setting, got, err, want)
		}
	}
}
