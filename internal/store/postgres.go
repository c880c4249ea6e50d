package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
)

const defaultConnectTimeout = 5 * time.Second

// sessionSettings are sent when a connection is opened, so that they cost no
// round trip in a transaction. A parameter of the same name in the URL wins.
var sessionSettings = map[string]string{
	"default_transaction_isolation":       "read committed", // a statement after the lock must see what the lock waited for
	"lock_timeout":                        "2000",           // ms; a batch holds the lock for some 30
	"statement_timeout":                   "10000",          // ms
	"idle_in_transaction_session_timeout": "10000",          // ms; a worker that froze must not hold a voucher
	"random_page_cost":                    "1.1",            // orders of a running sale are in memory: look them up by index
}

// postgresAt checks the URL of a PostgreSQL.
func postgresAt(rawURL string) (engine, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The cause may quote a part of the password.
		return engine{}, errors.New("the database URL is malformed: it must look like " +
			"postgres://user:password@host:5432/name, special characters of the password written as %XX")
	}
	config, err := pq.NewConfig(rawURL)
	if err != nil {
		return engine{}, fmt.Errorf("the database URL is not accepted: %s", withoutPassword(err.Error(), u))
	}
	if config.ConnectTimeout <= 0 {
		config.ConnectTimeout = defaultConnectTimeout
	}
	if config.ApplicationName == "" {
		config.ApplicationName = "flashclaim"
	}
	return engine{dialect: dialect.Postgres, maxConns: 10, open: func(forMigration bool) (*sql.DB, error) {
		c := config.Clone()
		if !forMigration {
			c.Runtime = maps.Clone(sessionSettings)
			maps.Copy(c.Runtime, config.Runtime)
		}
		connector, err := pq.NewConnectorConfig(c)
		if err != nil {
			return nil, fmt.Errorf("the database URL is not accepted: %s", withoutPassword(err.Error(), u))
		}
		return sql.OpenDB(connector), nil
	}}, nil
}

// withoutPassword hides the password in a driver's message.
func withoutPassword(message string, u *url.URL) string {
	secrets := u.Query()["password"]
	if p, ok := u.User.Password(); ok {
		secrets = append(secrets, p, url.QueryEscape(p), url.PathEscape(p))
	}
	for _, secret := range secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "xxxxx")
		}
	}
	return strings.TrimPrefix(message, "pq: ")
}
