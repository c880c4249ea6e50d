package store

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Options of an [Archive]. The zero value is ready to use.
type Options struct {
	// Now stamps rows; time.Now when nil. It judges no sale window.
	Now func() time.Time
	// MaxOpenConns bounds the connections, idle ones included. 0 means 10 for
	// PostgreSQL and 4 for SQLite.
	MaxOpenConns int
	// Log gets the lines of a migration and of a commit whose outcome is
	// unknown; slog.Default when nil.
	Log *slog.Logger
}

// Archive is the durable store. It is safe for concurrent use.
type Archive struct {
	engine engine
	db     *sql.DB
	client *ent.Client
	now    func() time.Time
	log    *slog.Logger
	turn   chan struct{} // the one writer's turn on SQLite; nil on PostgreSQL
}

// engine is a kind of database, at one address.
type engine struct {
	dialect  string // as ent and goose name it
	maxConns int
	// open makes a pool for the room's own queries, or one for migrations,
	// whose statements may take as long as they need. It does no I/O.
	open func(forMigration bool) (*sql.DB, error)
}

// New makes an archive at postgres://..., postgresql://... or sqlite:PATH. It
// does no I/O: a database that is away is found by the first call. The error is
// one sentence about the URL and never shows its password.
func New(rawURL string, o Options) (*Archive, error) {
	e, err := engineOf(rawURL)
	if err != nil {
		return nil, err
	}
	db, err := e.open(false)
	if err != nil {
		return nil, err
	}
	limitPool(db, max(o.MaxOpenConns, 0), e.maxConns)
	a := &Archive{
		engine: e, db: db, client: ent.NewClient(ent.Driver(entsql.OpenDB(e.dialect, db))),
		now: o.Now, log: o.Log,
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	if e.dialect == dialect.SQLite {
		a.turn = make(chan struct{}, 1)
	}
	return a, nil
}

func engineOf(rawURL string) (engine, error) {
	switch scheme, rest, _ := strings.Cut(rawURL, ":"); strings.ToLower(scheme) {
	case "postgres", "postgresql":
		return postgresAt(rawURL)
	case "sqlite":
		return sqliteAt(rest)
	}
	return engine{}, errors.New("the database URL must be postgres://..., postgresql://... or sqlite:PATH")
}

func limitPool(db *sql.DB, wanted, normal int) {
	if wanted == 0 {
		wanted = normal
	}
	db.SetMaxOpenConns(wanted)
	// As many idle as open: a rush would otherwise open and close connections
	// all the time.
	db.SetMaxIdleConns(wanted)
	db.SetConnMaxLifetime(30 * time.Minute)
	db.SetConnMaxIdleTime(5 * time.Minute)
}

// Close closes all connections. Calls that still run may end with an error.
func (a *Archive) Close() error {
	if err := a.db.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// stamp is the time for a row that is written now.
func (a *Archive) stamp() time.Time { return sale.Timestamp(a.now()) }
