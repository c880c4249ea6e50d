//go:build unix

package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Database makes an empty PostgreSQL database for the test, returns its URL and
// drops it in the test's cleanup, connections included. All tests of a binary
// share one server, which [Main] stops.
//
// When FLASHCLAIM_TEST_DATABASE_URL names a server, the database is made there;
// its user must be allowed to create databases.
func Database(tb testing.TB) string {
	tb.Helper()
	server, err := databaseServer()
	if err != nil {
		tb.Fatal(err)
	}
	name := "flashclaim_test_" + strings.ToLower(rand.Text())
	// template0 is never connected to, so two tests do not get in each other's way.
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		tb.Fatalf("create a test's database: %v", err)
	}
	tb.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop a test's database: %v", err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("read the URL of the test's database server: %v", err)
	}
	u.Path = "/" + name
	return u.String()
}

// databaseServer gives the URL of the server that the tests share.
func databaseServer() (string, error) {
	if rawURL := os.Getenv(databaseVariable); rawURL != "" {
		if !strings.HasPrefix(rawURL, "postgres://") && !strings.HasPrefix(rawURL, "postgresql://") {
			return "", errors.New(databaseVariable + " must be a URL that starts with postgres:// or postgresql://")
		}
		return rawURL, nil
	}
	return shared.url()
}

func execute(rawURL, statement string) (err error) {
	db, err := sql.Open("postgres", rawURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

// shared is the PostgreSQL of the whole test binary.
var shared sharedPostgres

type sharedPostgres struct {
	mu     sync.Mutex
	dir    string
	server *PostgresServer
	err    error // of the only attempt to start
}

// url starts the server at the first call.
func (s *sharedPostgres) url() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = s.start()
	}
	if s.err != nil {
		return "", s.err
	}
	return s.server.URL("postgres"), nil
}

func (s *sharedPostgres) start() (*PostgresServer, error) {
	if _, err := postgresPrograms(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "flashclaim-postgres-")
	if err != nil {
		return nil, err
	}
	s.dir = dir
	server, err := newPostgres(dir, nil)
	if err != nil {
		return nil, fmt.Errorf("start the tests' PostgreSQL: %w", err)
	}
	return server, nil
}

func (s *sharedPostgres) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.server != nil {
		err = s.server.endProcess(syscall.SIGINT)
		s.server = nil
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
		s.dir = ""
	}
	return err
}
