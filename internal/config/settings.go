package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var settings = []Setting{
	{
		Flag: "addr", Env: "FLASHCLAIM_ADDR", Default: "127.0.0.1:8080", Usage: "host:port to listen on; port 0 picks a free one",
		set: func(c *Config, s string) error { c.Addr = s; return hostAndPort(s) },
		get: func(c Config) string { return c.Addr },
	},
	{
		Flag: "ops-addr", Env: "FLASHCLAIM_OPS_ADDR",
		Usage: "host:port where a worker without a server answers /livez, /readyz and /metrics; none when empty",
		set:   func(c *Config, s string) error { c.OpsAddr = s; return hostAndPort(s) },
		get:   func(c Config) string { return c.OpsAddr },
	},
	{
		Flag: "redis-url", Env: "FLASHCLAIM_REDIS_URL", Default: "redis://127.0.0.1:6379/0",
		Usage: "redis://host:port/db, a comma-separated list for a cluster, or redis+sentinel://host:port/master",
		set: func(c *Config, s string) error {
			c.RedisURL = s
			if !hasScheme(s, "redis", "rediss", "redis+sentinel") {
				return errors.New("must start with redis://, rediss:// or redis+sentinel://")
			}
			return nil
		},
		get: func(c Config) string { return withoutPassword(c.RedisURL) },
	},
	{
		Flag: "database-url", Env: "FLASHCLAIM_DATABASE_URL", Usage: "postgres://user:password@host:port/database",
		set: func(c *Config, s string) error {
			c.DatabaseURL = s
			if !hasScheme(s, "postgres", "postgresql", "sqlite") {
				return errors.New("must look like postgres://user:password@host:5432/database")
			}
			return nil
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
			if err := oneOf(strings.ToLower(s), "debug", "info", "warn", "error"); err != nil {
				return err
			}
			return c.LogLevel.UnmarshalText([]byte(s))
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

func oneOf(s string, allowed ...string) error {
	for _, a := range allowed {
		if s == a {
			return nil
		}
	}
	return fmt.Errorf("must be one of %s, not %q", strings.Join(allowed, ", "), s)
}

func hasScheme(s string, schemes ...string) bool {
	scheme, rest, _ := strings.Cut(s, ":")
	return rest != "" && slices.Contains(schemes, scheme)
}

func boolean(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

var passwordParameter = regexp.MustCompile(`(?i)(password=)[^&\s]*`)

// withoutPassword cuts passwords out of a URL, also out of one that does not
// parse or is a list. Where it is in doubt it cuts more than it must.
func withoutPassword(s string) string {
	s = passwordParameter.ReplaceAllString(s, "${1}xxxxx")
	scheme, rest, _ := strings.Cut(s, ":")
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return s
	}
	userinfo, slashes := strings.CutPrefix(rest[:at], "//")
	if !slashes {
		return scheme + ":xxxxx" + rest[at:] // no telling what is the user
	}
	user, _, _ := strings.Cut(userinfo, ":")
	return scheme + "://" + user + rest[at:]
}

func hostAndPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("must be host:port, such as 127.0.0.1:8080")
	}
	return nil
}
