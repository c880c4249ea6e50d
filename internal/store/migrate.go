package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/flashclaim/flashclaim/internal/sale"
)

//go:embed migrations
var migrations embed.FS

// Migration is one versioned change of the tables.
type Migration struct {
	Version int64 // from 1, without gaps
	Name    string
	Applied bool
}

// ErrNotMigrated is what [errors.Is] finds in the error of [Archive.Check] when
// the database answers but its tables are older than this program.
var ErrNotMigrated = errors.New("the database is not migrated")

// notMigrated is ErrNotMigrated with its numbers.
type notMigrated struct{ at, want int64 }

func (e notMigrated) Error() string {
	return fmt.Sprintf("the database is at migration %d of %d; run: flashclaim migrate up", e.at, e.want)
}

func (e notMigrated) Is(target error) bool { return target == ErrNotMigrated }

// Migrate applies all missing migrations in order, each in a transaction. On
// PostgreSQL an advisory lock lets one process at a time do it; a second one
// waits and then finds nothing to do. Each line of progress goes to report,
// which may be nil.
func (a *Archive) Migrate(ctx context.Context, report func(line string)) (err error) {
	defer sale.Wrap(&err, "migrate the database")
	db, err := a.engine.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.PingContext(ctx); err != nil {
		return unavailable(err)
	}
	provider, err := a.provider(db)
	if err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		results = partial.Applied
	}
	if report != nil {
		for _, r := range results {
			report(fmt.Sprintf("applied %s in %s", path.Base(r.Source.Path), r.Duration.Round(1e6)))
		}
		if len(results) == 0 && err == nil {
			report("nothing to do, all migrations are applied")
		}
	}
	return err
}

// Status lists all migrations that this program knows, oldest first. It changes
// nothing. The error is of code UNAVAILABLE.
func (a *Archive) Status(ctx context.Context) (_ []Migration, err error) {
	defer sale.Wrap(&err, "read the state of the migrations")
	provider, err := a.provider(a.db)
	if err != nil {
		return nil, err
	}
	applied, err := a.appliedVersions(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	var all []Migration
	for _, source := range provider.ListSources() {
		all = append(all, Migration{
			Version: source.Version,
			Name:    strings.TrimSuffix(path.Base(source.Path), ".sql"),
			Applied: applied[source.Version],
		})
	}
	return all, nil
}

// Check tells whether the database can be worked with: it answers and has all
// migrations of this program. A database that a newer program migrated is fine,
// so that servers can be replaced one by one. The error is [ErrNotMigrated], or
// of code UNAVAILABLE.
func (a *Archive) Check(ctx context.Context) error {
	all, err := a.Status(ctx)
	if err != nil {
		return err
	}
	state := notMigrated{want: int64(len(all))}
	for _, m := range all {
		if !m.Applied {
			return state
		}
		state.at = m.Version
	}
	return nil
}

func (a *Archive) provider(db *sql.DB) (*goose.Provider, error) {
	folder, options := "migrations/sqlite", []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if a.engine.dialect == dialect.Postgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // s between tries, tries
		if err != nil {
			return nil, err
		}
		folder, options = "migrations/postgres", append(options, goose.WithSessionLocker(locker))
	}
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.Dialect(a.engine.dialect), db, files, options...)
}

const appliedSQL = "SELECT version_id FROM " + goose.DefaultTablename + " WHERE is_applied"

// appliedVersions reads goose's own table. goose itself would create it, which a
// check must not do.
func (a *Archive) appliedVersions(ctx context.Context) (_ map[int64]bool, err error) {
	applied := map[int64]bool{}
	rows, err := a.db.QueryContext(ctx, appliedSQL)
	if noSuchTable(err) {
		return applied, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return nil, err
		}
		applied[version] = true
	}
	return applied, rows.Err()
}

func noSuchTable(err error) bool {
	// SQLite has no code of its own for it.
	return err != nil && (pq.As(err, pqerror.UndefinedTable) != nil || strings.Contains(err.Error(), "no such table"))
}
