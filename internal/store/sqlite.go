package store

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"

	"entgo.io/ent/dialect"
	_ "modernc.org/sqlite" // the driver "sqlite", in pure Go
)

// sqliteAt checks the path of a SQLite file.
func sqliteAt(path string) (engine, error) {
	if path == "" || path == ":memory:" {
		return engine{}, errors.New("the database URL must name a file: sqlite:PATH")
	}
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Clean(path)}).EscapedPath()}
	file.RawQuery = url.Values{
		"_busy_timeout": {"5000"}, // ms; for another process, ours take turns
		"_journal_mode": {"WAL"},  // readers do not wait for the writer
		"_foreign_keys": {"1"},
		"_txlock":       {"immediate"}, // a transaction never has to upgrade its lock, which could fail
		"_time_format":  {"sqlite"},    // as text, times in UTC then sort as times
	}.Encode()
	return engine{dialect: dialect.SQLite, maxConns: 4, open: func(bool) (*sql.DB, error) {
		return sql.Open("sqlite", file.String())
	}}, nil
}
