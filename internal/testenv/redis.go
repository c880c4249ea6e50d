//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// answerWithin bounds the time a server takes to start on a busy machine.
const answerWithin = 60 * time.Second

// portTries is how often a start is repeated because another process took the
// free port first.
const portTries = 5

// RedisServer is the Redis of one test.
type RedisServer struct {
	tb   testing.TB
	url  string
	addr string

	// The rest is for a private server; command.program is empty for one that
	// the environment named.
	command command
	mu      sync.Mutex
	proc    *process
}

// Redis starts a private redis-server that keeps nothing on disk. More
// arguments, such as "--appendonly", "yes", come after the defaults and win. It
// is stopped by the test's cleanup.
//
// When FLASHCLAIM_TEST_REDIS_URL names a server, its database is emptied and
// lent to one test at a time instead.
func Redis(tb testing.TB, args ...string) *RedisServer {
	tb.Helper()
	if rawURL := os.Getenv(redisVariable); rawURL != "" {
		return externalRedis(tb, rawURL, args)
	}
	return privateRedis(tb, args)
}

func privateRedis(tb testing.TB, args []string) *RedisServer {
	tb.Helper()
	s, err := newRedis(tempDir(tb, "redis"), args)
	if err != nil {
		tb.Fatal(err)
	}
	s.tb = tb
	tb.Cleanup(s.Stop)
	return s
}

// newRedis starts a server on a free port; its files go to dir.
func newRedis(dir string, args []string) (*RedisServer, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	for range portTries {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s := &RedisServer{addr: hostPort(port), url: "redis://" + hostPort(port) + "/0"}
		s.command = command{
			program: program, dir: dir, logPath: filepath.Join(dir, "redis.log"),
			args: append([]string{
				"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
				"--daemonize", "no", "--save", "", "--appendonly", "no",
			}, args...),
		}
		if err := s.start(); !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
	return nil, fmt.Errorf("redis-server found its port taken %d times", portTries)
}

var errPortTaken = errors.New("the port was taken by another process")

// URL is the server's address for a client, "redis://127.0.0.1:PORT/0".
func (s *RedisServer) URL() string { return s.url }

// Addr is the server's "host:port".
func (s *RedisServer) Addr() string { return s.addr }

// Kill ends the server with SIGKILL and returns when it is gone.
func (s *RedisServer) Kill() { s.tb.Helper(); s.end(syscall.SIGKILL) }

// Stop ends the server politely and returns when it is gone. Stopping a stopped
// server does nothing.
func (s *RedisServer) Stop() { s.tb.Helper(); s.end(syscall.SIGTERM) }

// Start starts a stopped or killed server again, on the same port and folder.
// What it still knows depends on its persistence arguments.
func (s *RedisServer) Start() {
	s.tb.Helper()
	s.mustBePrivate()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(); err != nil {
		s.tb.Fatal(err)
	}
}

// Pause freezes the server: connections stay open and nothing is answered.
func (s *RedisServer) Pause() { s.tb.Helper(); s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *RedisServer) Resume() { s.tb.Helper(); s.signal(syscall.SIGCONT) }

func (s *RedisServer) mustBePrivate() {
	s.tb.Helper()
	if s.command.program == "" {
		skip(s.tb, "the server named by "+redisVariable+" may not be stopped or paused")
	}
}

func (s *RedisServer) signal(sig syscall.Signal) {
	s.tb.Helper()
	s.mustBePrivate()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		s.tb.Fatalf("redis-server on %s does not run", s.addr)
	}
	if err := s.proc.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("send %s to redis-server: %v", sig, err)
	}
}

func (s *RedisServer) end(sig syscall.Signal) {
	s.tb.Helper()
	s.mustBePrivate()
	if err := s.endProcess(sig); err != nil {
		s.tb.Errorf("end redis-server: %v", err)
	}
}

func (s *RedisServer) endProcess(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	return p.end(sig)
}

// start starts the process and waits until it answers.
func (s *RedisServer) start() error {
	if s.proc != nil {
		return fmt.Errorf("redis-server on %s runs already", s.addr)
	}
	p, err := startProcess(s.command)
	if err != nil {
		return err
	}
	client := redisClient(s.url)
	defer func() { _ = client.Close() }() // it only pinged
	answers := func() bool { return p.gone() || redisAnswers(client) }
	switch inTime := poll(answerWithin, answers); {
	case p.portTaken():
		return errPortTaken
	case p.gone():
		return fmt.Errorf("redis-server ended at its start: %s", p.lastWords())
	case !inTime:
		_ = p.end(syscall.SIGKILL)
		return fmt.Errorf("redis-server on %s did not answer within %s: %s", s.addr, answerWithin, p.lastWords())
	}
	s.proc = p
	return nil
}

// redisAnswers tells whether the server is up. A refusal, such as a missing
// password, is an answer too; a server that still loads its file is not ready.
func redisAnswers(client *redis.Client) bool {
	// The client logs each refused connection, and a poll is refused many times.
	probe, err := net.DialTimeout("tcp", client.Options().Addr, time.Second)
	if err != nil {
		return false
	}
	_ = probe.Close()
	err = client.Ping(context.Background()).Err()
	var refusal redis.Error
	return err == nil || errors.As(err, &refusal) && !strings.HasPrefix(refusal.Error(), "LOADING")
}

// redisClient is a client for the house's own few commands. It panics on a URL
// that this package did not check.
func redisClient(rawURL string) *redis.Client {
	options, err := redis.ParseURL(rawURL)
	if err != nil {
		panic(err)
	}
	options.DialTimeout, options.ReadTimeout = time.Second, 5*time.Second
	options.MaxRetries, options.DialerRetries = -1, 1 // the caller polls
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(options)
}
