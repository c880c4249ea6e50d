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
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Config is what a process runs with.
type Config struct {
	Addr           string   // host:port to listen on; port 0 picks a free one
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

var settings = []Setting{
	{
		Flag: "addr", Env: "FLASHCLAIM_ADDR", Default: "127.0.0.1:8080", Usage: "host:port to listen on; port 0 picks a free one",
		set: func(c *Config, s string) error {
			if _, port, err := net.SplitHostPort(s); err != nil || port == "" {
				return errors.New("must be host:port, such as 127.0.0.1:8080")
			}
			c.Addr = s
			return nil
		},
		get: func(c Config) string { return c.Addr },
	},
	{
		Flag: "redis-url", Env: "FLASHCLAIM_REDIS_URL", Default: "redis://127.0.0.1:6379/0",
		Usage: "redis://host:port/db, a comma-separated list for a cluster, or redis+sentinel://host:port/master",
		set: func(c *Config, s string) error {
			c.RedisURL = s
			return oneOfSchemes(s, "redis", "rediss", "redis+sentinel")
		},
		get: func(c Config) string { return withoutPassword(c.RedisURL) },
	},
	{
		Flag: "database-url", Env: "FLASHCLAIM_DATABASE_URL", Usage: "postgres://user:password@host:port/database",
		set: func(c *Config, s string) error {
			c.DatabaseURL = s
			return oneOfSchemes(s, "postgres", "postgresql", "sqlite")
		},
		get: func(c Config) string { return withoutPassword(c.DatabaseURL) },
	},
	{
		Flag: "jwt-secret", Env: "FLASHCLAIM_JWT_SECRET", Usage: "secret of at least 32 bytes that signs tokens (HS256)", Secret: true,
		set: func(c *Config, s string) error {
			if len(s) < 32 {
				return fmt.Errorf("must have at least 32 bytes, not %d", len(s))
			}
			c.JWTSecret = s
			return nil
		},
		get: func(c Config) string { return c.JWTSecret },
	},
	{
		Flag: "partitions", Env: "FLASHCLAIM_PARTITIONS", Default: "16", Usage: "hash tags over which vouchers spread, 1 to 100; never lower it",
		set: func(c *Config, s string) (err error) {
			if c.Partitions, err = strconv.Atoi(s); err != nil || c.Partitions < 1 || c.Partitions > 100 {
				return errors.New("must be a whole number from 1 to 100")
			}
			return nil
		},
		get: func(c Config) string { return strconv.Itoa(c.Partitions) },
	},
	{
		Flag: "durability", Env: "FLASHCLAIM_DURABILITY", Default: "everysec", Usage: "what Redis must keep of an accepted claim: relaxed, everysec or always",
		set: func(c *Config, s string) error {
			c.Durability = s
			return oneOf(s, "relaxed", "everysec", "always")
		},
		get: func(c Config) string { return c.Durability },
	},
	{
		Flag: "allowed-origins", Env: "FLASHCLAIM_ALLOWED_ORIGINS", Usage: "comma-separated origins of web pages that may call, such as https://shop.example",
		set: func(c *Config, s string) error {
			c.AllowedOrigins = nil
			for origin := range strings.SplitSeq(s, ",") {
				if origin = strings.TrimSpace(origin); origin == "" {
					continue
				}
				u, err := url.Parse(origin)
				if origin != "*" && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
					return fmt.Errorf("%q must be scheme://host or scheme://host:port", origin)
				}
				c.AllowedOrigins = append(c.AllowedOrigins, origin)
			}
			return nil
		},
		get: func(c Config) string { return strings.Join(c.AllowedOrigins, ",") },
	},
	{
		Flag: "playground", Env: "FLASHCLAIM_PLAYGROUND", Default: "false", Usage: "serve GraphiQL at /playground; turns introspection on",
		set: func(c *Config, s string) (err error) { c.Playground, err = boolean(s); return err },
		get: func(c Config) string { return strconv.FormatBool(c.Playground) },
	},
	{
		Flag: "introspection", Env: "FLASHCLAIM_INTROSPECTION", Default: "false", Usage: "answer questions about the schema",
		set: func(c *Config, s string) (err error) { c.Introspection, err = boolean(s); return err },
		get: func(c Config) string { return strconv.FormatBool(c.Introspection) },
	},
	{
		Flag: "log-level", Env: "FLASHCLAIM_LOG_LEVEL", Default: "info", Usage: "debug, info, warn or error",
		set: func(c *Config, s string) error {
			if c.LogLevel.UnmarshalText([]byte(s)) != nil {
				return errors.New("must be debug, info, warn or error")
			}
			return nil
		},
		get: func(c Config) string { return strings.ToLower(c.LogLevel.String()) },
	},
	{
		Flag: "log-format", Env: "FLASHCLAIM_LOG_FORMAT", Default: "text", Usage: "text or json",
		set: func(c *Config, s string) error {
			c.LogFormat = s
			return oneOf(s, "text", "json")
		},
		get: func(c Config) string { return c.LogFormat },
	},
}

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
		if value == "" {
			for _, n := range needed {
				if n == s.Flag {
					faults = append(faults, fmt.Sprintf("--%s or %s is needed: %s", s.Flag, s.Env, s.Usage))
				}
			}
			continue
		}
		if err := s.set(&c, value); err != nil {
			faults = append(faults, source+" "+err.Error())
		}
	}
	for key := range fromFile {
		faults = append(faults, fmt.Sprintf("%s in %s is not a setting", key, file))
	}
	if len(faults) > 0 {
		return Config{}, faults
	}
	return c, nil
}

// readFile reads a JSON object whose keys are the flags' names.
func readFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("the settings file cannot be read: %w", err)
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%s must hold one JSON object: %w", path, err)
	}
	values := make(map[string]string, len(raw))
	for k, v := range raw {
		values[k] = fmt.Sprint(v)
	}
	return values, nil
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

func oneOf(s string, allowed ...string) error {
	for _, a := range allowed {
		if s == a {
			return nil
		}
	}
	return fmt.Errorf("must be one of %s, not %q", strings.Join(allowed, ", "), s)
}

func oneOfSchemes(s string, schemes ...string) error {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" || oneOf(scheme, schemes...) != nil {
		return fmt.Errorf("must start with %s://", strings.Join(schemes, ":// or "))
	}
	return nil
}

func boolean(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

// withoutPassword cuts the password out of a URL, also out of one that does not
// parse.
func withoutPassword(s string) string {
	at := strings.LastIndex(s, "@")
	start := strings.Index(s, "://")
	if at < 0 || start < 0 || at < start {
		return s
	}
	user, _, _ := strings.Cut(s[start+3:at], ":")
	return s[:start+3] + user + s[at:]
}
