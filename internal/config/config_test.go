package config

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const secret = "a secret of at least thirty-two bytes"

// values is an environment.
type values map[string]string

func (v values) look(name string) (string, bool) { s, ok := v[name]; return s, ok }

// TestSettings judges good and bad values of every setting, given as a flag.
func TestSettings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		good map[string]string // value: as the config gives it back, "" for the same
		bad  map[string]string // value: part of the fault
	}{
		"addr": {
			good: map[string]string{"127.0.0.1:0": "", ":8080": "", "[::1]:80": "", "localhost:65535": ""},
			bad:  map[string]string{"": "host:port", "8080": "host:port", "127.0.0.1": "host:port", "h:": "host:port", "h:65536": "host:port", "h:http": "host:port", "::1:80": "host:port"},
		},
		"ops-addr": {
			good: map[string]string{"127.0.0.1:0": "", ":8080": "", "[::1]:80": "", "localhost:65535": ""},
			bad:  map[string]string{"8080": "host:port", "127.0.0.1": "host:port", "h:": "host:port", "h:65536": "host:port", "h:http": "host:port", "::1:80": "host:port"},
		},
		"redis-url": {
			good: map[string]string{"redis://h:6379/1": "", "rediss://h": "", "redis://a:1,b:2": "", "redis+sentinel://h:26379/m": ""},
			bad:  map[string]string{"": "redis://", "h:6379": "redis://", "http://h": "redis://", "redis:": "redis://", "Redis": "redis://"},
		},
		"database-url": {
			good: map[string]string{"postgres://u@h/d": "", "postgresql://h/d": "", "sqlite:a.db": ""},
			bad:  map[string]string{"mysql://h/d": "postgres://user", "h/d": "postgres://user", "postgres:": "postgres://user"},
		},
		"jwt-secret": {
			good: map[string]string{secret: ""},
			bad:  map[string]string{"short": "at least 32 bytes, not 5", strings.Repeat("x", 31): "not 31"},
		},
		"partitions": {
			good: map[string]string{"1": "", "16": "", "100": ""},
			bad:  map[string]string{"": "1 to 100", "0": "1 to 100", "101": "1 to 100", "-1": "1 to 100", "1.5": "1 to 100", "many": "1 to 100", "99999999999999999999": "1 to 100"},
		},
		"durability": {
			good: map[string]string{"relaxed": "", "everysec": "", "always": ""},
			bad:  map[string]string{"": "relaxed, everysec, always", "never": `not "never"`, "Always": "not"},
		},
		"allowed-origins": {
			good: map[string]string{"": "", "*": "", "https://shop.example": "", " https://a.example , http://b.example:3000,": "https://a.example,http://b.example:3000"},
			bad:  map[string]string{"shop.example": `"shop.example" must be scheme://host`, "https://shop.example/path": "scheme://host", "https://a.example https://b.example": "scheme://host", "https://": "scheme://host"},
		},
		"playground": {
			good: map[string]string{"true": "", "false": "", "1": "true"},
			bad:  map[string]string{"": "true or false", "yes": "true or false"},
		},
		"introspection": {
			good: map[string]string{"true": "", "false": "", "0": "false"},
			bad:  map[string]string{"on": "true or false"},
		},
		"log-level": {
			good: map[string]string{"debug": "", "info": "", "warn": "", "error": "", "WARN": "warn"},
			bad:  map[string]string{"": "debug, info, warn, error", "trace": `not "trace"`, "info+1": "not"},
		},
		"log-format": {
			good: map[string]string{"text": "", "json": ""},
			bad:  map[string]string{"": "text, json", "xml": `not "xml"`},
		},
	}
	for _, s := range Settings() {
		c, ok := cases[s.Flag]
		if !ok {
			t.Errorf("--%s has no case here", s.Flag)
			continue
		}
		for value, want := range c.good {
			if want == "" {
				want = value
			}
			config, err := Load("", values{}.look, map[string]string{s.Flag: value})
			if err != nil {
				t.Errorf("--%s %q: %v", s.Flag, value, err)
			} else if got := s.get(config); got != want {
				t.Errorf("--%s %q reads as %q, want %q", s.Flag, value, got, want)
			}
		}
		for value, want := range c.bad {
			config, err := Load("", values{}.look, map[string]string{s.Flag: value})
			var faults Faults
			switch {
			case !errors.As(err, &faults) || len(faults) != 1:
				t.Errorf("--%s %q: want one fault, got %v", s.Flag, value, err)
			case !strings.HasPrefix(faults[0], "--"+s.Flag+" ") || !strings.Contains(faults[0], want):
				t.Errorf("--%s %q: %q does not begin with the flag and say %q", s.Flag, value, faults[0], want)
			case cmp.Diff(Config{}, config) != "":
				t.Errorf("--%s %q: half a config comes with the fault", s.Flag, value)
			}
		}
	}
}

// TestSettingsAreNamed: the table is what help and documents are made of.
func TestSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, s := range Settings() {
		env := "FLASHCLAIM_" + strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_"))
		if s.Env != env || s.Usage == "" {
			t.Errorf("--%s has the variable %s, want %s, and the usage %q", s.Flag, s.Env, env, s.Usage)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := Load("", values{}.look, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addr: "127.0.0.1:8080", RedisURL: "redis://127.0.0.1:6379/0", Partitions: 16, Durability: "everysec",
		LogLevel: slog.LevelInfo, LogFormat: "text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPrecedence: flags win over the environment, that over the file, that over
// the default; an empty variable is no variable.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := file(t, `{"partitions": 3, "log-level": "debug", "log-format": "json", "playground": true, "durability": "always",
		"allowed-origins": ["https://a.example", "https://b.example"]}`)
	env := values{"FLASHCLAIM_PARTITIONS": "4", "FLASHCLAIM_LOG_LEVEL": "error", "FLASHCLAIM_DURABILITY": ""}
	got, err := Load(path, env.look, map[string]string{"partitions": "5"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addr: "127.0.0.1:8080", RedisURL: "redis://127.0.0.1:6379/0", // defaults
		Partitions: 5,               // the flag's
		LogLevel:   slog.LevelError, // the environment's
		LogFormat:  "json", Playground: true, Durability: "always", AllowedOrigins: []string{"https://a.example", "https://b.example"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAllFaultsAtOnce: each fault names where the value came from, so that it is
// mended in the right place, and all come in one message.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	path := file(t, `{"durability": "never", "zz": 1, "aa": "x", "allowed-origins": [1]}`)
	env := values{"FLASHCLAIM_PARTITIONS": "0", "FLASHCLAIM_DATABASE_URL": ""}
	_, err := Load(path, env.look, map[string]string{"addr": "nowhere"}, "database-url", "jwt-secret")
	want := Faults{
		"--addr must be host:port, such as 127.0.0.1:8080",
		"--database-url or FLASHCLAIM_DATABASE_URL is needed: postgres://user:password@host:port/database",
		"--jwt-secret or FLASHCLAIM_JWT_SECRET is needed: secret of at least 32 bytes that signs tokens (HS256)",
		"FLASHCLAIM_PARTITIONS must be a whole number from 1 to 100",
		"durability in " + path + ` must be one of relaxed, everysec, always, not "never"`,
		"allowed-origins in " + path + ` "[1]" must be scheme://host or scheme://host:port`,
		"aa in " + path + " is not a setting",
		"zz in " + path + " is not a setting",
	}
	var got Faults
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err.Error() != strings.Join(want, "; ") {
		t.Errorf("the message is %q", err)
	}
}

func TestBrokenFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"addr": `:              "must hold one JSON object: unexpected end",
		`[1]`:                    "must hold one JSON object whose keys",
		`null`:                   "must hold one JSON object whose keys",
		`{} {}`:                  "must hold one JSON object: invalid character",
		`{"addr": {"port": 80}}`: "must be host:port",
		`{"partitions": null}`:   "whole number",
	} {
		path := file(t, text)
		_, err := Load(path, values{}.look, nil)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.json"), values{}.look, nil)
	if err == nil || !strings.Contains(err.Error(), "the settings file cannot be read") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestNothingSecretIsPrinted: neither the log of the settings nor a fault shows
// a secret or a password.
func TestNothingSecretIsPrinted(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:hunter2@h:1/d":                             "postgres://u@h:1/d",
		"postgres://u:hunt@hunter2@h/d":                          "postgres://u@h/d",
		"postgres://u:%zzhunter2@h/d":                            "postgres://u@h/d",
		"postgres://u:hunter2 @ h/d":                             "postgres://u@ h/d",
		"postgres:u:hunter2@h/d":                                 "postgres:xxxxx@h/d",
		"postgres://h/d?user=u&password=hunter2&sslmode=disable": "postgres://h/d?user=u&password=xxxxx&sslmode=disable",
		"postgres://h/d?PASSWORD=hunter2":                        "postgres://h/d?PASSWORD=xxxxx",
		"postgres://u@h/d":                                       "postgres://u@h/d",
		"sqlite:a.db":                                            "sqlite:a.db",
	} {
		if got := withoutPassword(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
		c := Config{RedisURL: "redis://:hunter2@a:1,redis://:hunter2@b:2", DatabaseURL: url, JWTSecret: "hunter2 " + secret}
		var shown bytes.Buffer
		slog.New(slog.NewTextHandler(&shown, nil)).InfoContext(t.Context(), "starting", "config", c)
		if strings.Contains(shown.String(), "hunter2") {
			t.Errorf("the log of %s shows a password: %s", url, shown.String())
		}
		if !strings.Contains(shown.String(), "config.jwt_secret=(set)") || !strings.Contains(shown.String(), "config.redis_url=redis://@b:2") {
			t.Errorf("the log hides too much: %s", shown.String())
		}
	}
	_, err := Load("", values{"FLASHCLAIM_JWT_SECRET": "hunter2", "FLASHCLAIM_REDIS_URL": "x://:hunter2@h", "FLASHCLAIM_DATABASE_URL": "u:hunter2@h"}.look, nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a fault shows a secret: %v", err)
	}
}
