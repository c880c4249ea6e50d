//go:build unix

package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	_ "github.com/lib/pq" // the database/sql driver "postgres"
)

// PostgresServer is the PostgreSQL of one test.
type PostgresServer struct {
	tb      testing.TB
	port    int
	command command
	mu      sync.Mutex
	proc    *process
}

// PostgresOption changes a setting of a private PostgreSQL.
type PostgresOption func(settings map[string]string)

// WithFsync makes the server write through to the disk, as in production. Tests
// run without, because no test pulls the plug.
func WithFsync() PostgresOption {
	return func(settings map[string]string) { settings["fsync"], settings["full_page_writes"] = "on", "on" }
}

// WithSetting sets a parameter of postgresql.conf, such as "max_connections".
func WithSetting(name, value string) PostgresOption {
	return func(settings map[string]string) { settings[name] = value }
}

// Postgres starts a private, empty PostgreSQL and stops it in the test's
// cleanup. It takes a second or two; a test that only needs a database asks for
// a [Database].
func Postgres(tb testing.TB, options ...PostgresOption) *PostgresServer {
	tb.Helper()
	if _, err := postgresPrograms(); err != nil {
		missing(tb, err, databaseVariable)
	}
	s, err := newPostgres(tempDir(tb, "postgres"), options)
	if err != nil {
		tb.Fatal(err)
	}
	s.tb = tb
	tb.Cleanup(s.Stop)
	return s
}

// URL is the address of one of the server's databases for a client. A new
// server has the database "postgres" and a superuser of that name who needs no
// password.
func (s *PostgresServer) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Host: hostPort(s.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Addr is the server's "host:port".
func (s *PostgresServer) Addr() string { return hostPort(s.port) }

// Kill ends the server at once, without a checkpoint, as a crash does: the next
// start recovers from its log. It returns when all its processes are gone.
//
// The signal is SIGQUIT, not SIGKILL, because after a killed parent process the
// rest of PostgreSQL lives on for a while and forbids a new start.
func (s *PostgresServer) Kill() { s.tb.Helper(); s.end(syscall.SIGQUIT) }

// Stop cuts all connections, ends the server in good order and returns when it
// is gone. Stopping a stopped server does nothing.
func (s *PostgresServer) Stop() { s.tb.Helper(); s.end(syscall.SIGINT) }

// Start starts a stopped or killed server again, on the same port and data.
func (s *PostgresServer) Start() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *PostgresServer) end(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.endProcess(sig); err != nil {
		s.tb.Errorf("end PostgreSQL: %v", err)
	}
}

func (s *PostgresServer) endProcess(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.end(sig)
}

// newPostgres makes a cluster of databases in dir and starts it on a free port.
func newPostgres(dir string, options []PostgresOption) (*PostgresServer, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	account, err := postgresUser()
	if err != nil {
		return nil, err
	}
	if account != nil {
		if err := os.Chown(dir, int(account.uid), int(account.gid)); err != nil {
			return nil, err
		}
	}
	base := command{dir: dir, logPath: filepath.Join(dir, "postgres.log"), user: account}
	if err := initdb(base, programs); err != nil {
		return nil, err
	}
	settings := defaultSettings(dir)
	for _, option := range options {
		option(settings)
	}
	for range portTries {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s := &PostgresServer{port: port, command: base}
		s.command.program = filepath.Join(programs, "postgres")
		s.command.args = []string{"-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port)}
		for name, value := range settings {
			s.command.args = append(s.command.args, "-c", name+"="+value)
		}
		if err := s.start(); !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
	return nil, fmt.Errorf("PostgreSQL found its port taken %d times", portTries)
}

func defaultSettings(dir string) map[string]string {
	return map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": dir,
		"max_connections":         "200",
		"fsync":                   "off",
		"full_page_writes":        "off",
	}
}

func initdb(c command, programs string) error {
	c.program = filepath.Join(programs, "initdb")
	c.args = []string{
		"-D", filepath.Join(c.dir, "data"), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions",
	}
	p, err := startProcess(c)
	if err != nil {
		return err
	}
	<-p.exited
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("initdb: %s", p.lastWords())
	}
	return nil
}

// start starts the process and waits until it accepts connections.
func (s *PostgresServer) start() error {
	if s.proc != nil {
		return fmt.Errorf("PostgreSQL on %s runs already", s.Addr())
	}
	p, err := startProcess(s.command)
	if err != nil {
		return err
	}
	db, err := sql.Open("postgres", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it only pinged
	answers := func() bool { return p.gone() || db.PingContext(context.Background()) == nil }
	switch inTime := poll(answerWithin, answers); {
	case p.portTaken():
		return errPortTaken
	case p.gone():
		return fmt.Errorf("PostgreSQL ended at its start: %s", p.lastWords())
	case !inTime:
		_ = p.end(syscall.SIGQUIT)
		return fmt.Errorf("PostgreSQL on %s did not answer within %s: %s", s.Addr(), answerWithin, p.lastWords())
	}
	s.proc = p
	return nil
}
