package store

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestArchiveMigratesOnce(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			rawURL := database(t)
			a := open(t, rawURL)
			err := a.Check(t.Context())
			if !errors.Is(err, ErrNotMigrated) || err.Error() != "the database is at migration 0 of 1; run: flashclaim migrate up" {
				t.Errorf("an empty database: %v", err)
			}
			if status, err := a.Status(t.Context()); err != nil || len(status) != 1 || status[0].Applied {
				t.Errorf("status of an empty database: %v, error %v", status, err)
			}
			for _, want := range []string{"applied 00001_tables.sql in ", "nothing to do, "} {
				var lines []string
				if err := a.Migrate(t.Context(), func(line string) { lines = append(lines, line) }); err != nil {
					t.Fatal(err)
				}
				if len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
					t.Errorf("reported %q, want one line that begins with %q", lines, want)
				}
			}
			if err := a.Check(t.Context()); err != nil {
				t.Error(err)
			}
			status, err := a.Status(t.Context())
			if diff := cmp.Diff([]Migration{{Version: 1, Name: "00001_tables", Applied: true}}, status); diff != "" || err != nil {
				t.Errorf("error %v: %s", err, diff)
			}
		})
	}
}

// Several processes start at once; each of them migrates.
func TestArchiveMigratesConcurrently(t *testing.T) {
	t.Parallel()
	rawURL := engines["postgres"](t)
	var processes errgroup.Group
	for range 3 {
		a := open(t, rawURL)
		processes.Go(func() error { return a.Migrate(t.Context(), nil) })
	}
	if err := processes.Wait(); err != nil {
		t.Error(err)
	}
}

func TestArchiveChecksAnAbsentDatabase(t *testing.T) {
	t.Parallel()
	for name, rawURL := range map[string]string{
		"postgres": "postgres://u:secret@127.0.0.1:1/x?sslmode=disable",
		"sqlite":   "sqlite:" + t.TempDir() + "/no/such/folder/file.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, rawURL)
			for call, err := range map[string]error{
				"check": a.Check(t.Context()), "migrate": a.Migrate(t.Context(), nil),
				"write": a.CreateVoucher(t.Context(), sale.Voucher{}),
			} {
				if sale.CodeOf(err) != sale.CodeUnavailable || errors.Is(err, ErrNotMigrated) || !Transient(err) {
					t.Errorf("%s: %v, want UNAVAILABLE", call, err)
				}
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%s shows the password: %v", call, err)
				}
			}
		})
	}
}

// The migrations and ent/schema say the same.
func TestMigrationsMatchTheSchema(t *testing.T) {
	t.Parallel()
	for name, database := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			if drift := driftOf(t, a); drift != "" {
				t.Errorf("to agree with ent/schema, the migrations lack:\n%s", drift)
			}
			fromEnt := open(t, database(t))
			entSchema.Lock()
			err := fromEnt.client.Schema.Create(t.Context())
			entSchema.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(checksOf(t, fromEnt), checksOf(t, a)); diff != "" {
				t.Errorf("checks of ent/schema (-) and of the migrations (+): %s", diff)
			}
		})
	}
}

// The comparison above does find what it is for.
func TestDriftIsFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"column missing":  "ALTER TABLE orders DROP COLUMN request_id",
		"column added":    "ALTER TABLE orders ADD COLUMN surprise bigint",
		"index missing":   "DROP INDEX orders_of_buyer",
		"index added":     "CREATE INDEX surprise ON vouchers (title)",
		"index not whole": "DROP INDEX orders_live; CREATE UNIQUE INDEX orders_live ON orders (voucher_id, buyer_id, ordinal)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for engine, database := range engines {
				t.Run(engine, func(t *testing.T) {
					t.Parallel()
					a := migrated(t, database(t))
					mustExec(t, a, change)
					if driftOf(t, a) == "" {
						t.Errorf("%s: not found", change)
					}
				})
			}
		})
	}
}

func TestChecksAreCompared(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			before := checksOf(t, a)
			mustExec(t, a, "DROP TABLE vouchers")
			mustExec(t, a, "CREATE TABLE vouchers (sold bigint, CONSTRAINT vouchers_sold_in_total CHECK (sold > 0))")
			if len(before) == 0 || cmp.Equal(before, checksOf(t, a)) {
				t.Errorf("another check was not noticed: %q", before)
			}
		})
	}
}

// entSchema guards the tables of package ent/migrate, which ent changes while it
// compares or creates.
var entSchema sync.Mutex

// driftOf is the SQL that would turn the tables into those of ent/schema.
func driftOf(t *testing.T, a *Archive) string {
	t.Helper()
	var sql bytes.Buffer
	entSchema.Lock()
	defer entSchema.Unlock()
	err := a.client.Schema.WriteTo(t.Context(), &sql, schema.WithDropColumn(true), schema.WithDropIndex(true))
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for line := range strings.Lines(sql.String()) {
		if !strings.HasPrefix(line, "PRAGMA ") { // SQLite's frame around no change
			changes = append(changes, line)
		}
	}
	return strings.Join(changes, "")
}

// checksOf are the check constraints of all tables, which ent does not compare.
func checksOf(t *testing.T, a *Archive) []string {
	t.Helper()
	query := `SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND conrelid IN
		('vouchers'::regclass, 'orders'::regclass, 'dead_letters'::regclass) ORDER BY 1`
	if a.engine.dialect == dialect.SQLite {
		query = `SELECT name || substr(sql, instr(sql, 'CONSTRAINT')) FROM sqlite_master WHERE sql LIKE '%CONSTRAINT%' ORDER BY 1`
	}
	checks := texts(t, a, query)
	for i, check := range checks {
		checks[i] = strings.Map(dropLayout, check)
	}
	return checks
}

// dropLayout drops white space and quotes of names.
func dropLayout(r rune) rune {
	if strings.ContainsRune(" \t\n`\"", r) {
		return -1
	}
	return r
}
