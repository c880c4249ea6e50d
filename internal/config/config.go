// Package config holds the settings of a process: where each may be given, its
// default, and its rule. Flags win over the environment, that over the file,
// that over the defaults. All faults are told at once.
//
// It knows no other room; app reads the finished [Config].
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
)

// Config is what a process runs with.
type Config struct {
	Addr           string   // host:port to listen on; port 0 picks a free one
	OpsAddr        string   // host:port of a worker's health and metrics; empty is none
	RedisURL       string   // one server, a comma-separated cluster, or redis+sentinel://
	DatabaseURL    string   // postgres://...
	JWTSecret      string   // signs and verifies tokens (HS256), at least 32 bytes
	Partitions     int      // hash tags over which vouchers spread, 1 to 100; never lowered
	Durability     string   // relaxed, everysec or always
	AllowedOrigins []string // origins of web pages that may call, besides our own
	Playground     bool     // serve GraphiQL at /playground
	Introspection  bool     // answer questions about the schema
	LogLevel       slog.Level
	LogFormat      string // text or json
}

// Setting is one line of the table of settings.
type Setting struct {
	Flag    string // without the dashes; also the key in the file
	Env     string
	Default string
	Usage   string
	Secret  bool // never printed
	set     func(*Config, string) error
	get     func(Config) string
}

// Settings is the table, in the order in which help shows it.
func Settings() []Setting { return settings }

// Faults are all broken settings at once.
type Faults []string

// Error is one message that names them all.
func (f Faults) Error() string { return strings.Join(f, "; ") }

// Load reads the settings. file may be empty; flags holds those that were given.
// needed names the flags of settings that must not be empty. The error is
// [Faults].
func Load(file string, env func(string) (string, bool), flags map[string]string, needed ...string) (Config, error) {
	var c Config
	var faults Faults
	fromFile, err := readFile(file)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, s := range settings {
		value, source := s.Default, "the default of --"+s.Flag
		if v, ok := fromFile[s.Flag]; ok {
			value, source = v, s.Flag+" in "+file
		}
		if v, ok := env(s.Env); ok && v != "" {
			value, source = v, s.Env
		}
		if v, ok := flags[s.Flag]; ok {
			value, source = v, "--"+s.Flag
		}
		delete(fromFile, s.Flag)
		if value == "" && s.Default == "" {
			if slices.Contains(needed, s.Flag) {
				faults = append(faults, fmt.Sprintf("--%s or %s is needed: %s", s.Flag, s.Env, s.Usage))
			}
			continue
		}
		if err := s.set(&c, value); err != nil {
			faults = append(faults, source+" "+err.Error())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fromFile)) {
		faults = append(faults, fmt.Sprintf("%s in %s is not a setting", key, file))
	}
	if len(faults) > 0 {
		return Config{}, faults
	}
	return c, nil
}

// readFile reads a JSON object whose keys are the flags' names. A value is text,
// a number, true or false, or a list of texts.
func readFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("the settings file cannot be read: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("%s must hold one JSON object: %w", path, err)
		}
		return nil, fmt.Errorf("%s must hold one JSON object whose keys are settings", path)
	}
	values := make(map[string]string, len(raw))
	for k, v := range raw {
		values[k] = textOf(v)
	}
	return values, nil
}

// textOf gives a value of the file as it would stand in the environment. What
// cannot stand there stays JSON, and the setting's own rule refuses it.
func textOf(v json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(v, &text) == nil:
		return text // null is the empty text
	case json.Unmarshal(v, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(v)
}

// LogValue shows the settings without secrets and passwords.
func (c Config) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, len(settings))
	for _, s := range settings {
		v := s.get(c)
		if s.Secret && v != "" {
			v = "(set)"
		}
		attrs = append(attrs, slog.String(strings.ReplaceAll(s.Flag, "-", "_"), v))
	}
	return slog.GroupValue(attrs...)
}
