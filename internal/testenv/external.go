//go:build unix

package testenv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Variables that name running servers, for machines where the programs cannot
// be installed.
const (
	redisVariable    = "FLASHCLAIM_TEST_REDIS_URL"    // redis://host:port/N with N of 1 or more; emptied again and again
	databaseVariable = "FLASHCLAIM_TEST_DATABASE_URL" // postgres://...; databases are created and dropped there
)

// turnWithin bounds the wait for one's turn on a shared Redis.
const turnWithin = 10 * time.Minute

// skip leaves out a test that a server named by the environment cannot serve.
func skip(tb testing.TB, reason string) {
	tb.Helper()
	tb.Skip(reason) //nolint:forbidigo // the one allowed skip: it cannot happen where the programs are installed
}

// missing ends a test whose program is not installed: with a failure, or with a
// skip when somebody chose to test with running servers instead.
func missing(tb testing.TB, err error, variable string) {
	tb.Helper()
	if os.Getenv(variable) == "" {
		tb.Fatal(err)
	}
	skip(tb, err.Error()+"; this test needs a private server")
}

// externalRedis lends the database of a running server to the test.
func externalRedis(tb testing.TB, rawURL string, args []string) *RedisServer {
	tb.Helper()
	if len(args) > 0 {
		skip(tb, "the server named by "+redisVariable+" may not be configured")
	}
	options, err := redis.ParseURL(rawURL)
	if err != nil {
		tb.Fatalf("%s is not the URL of a Redis: %v", redisVariable, err)
	}
	if options.DB == 0 {
		tb.Fatal(redisVariable + " must end in a database number of 1 or more, such as /9, because tests empty it")
	}
	takeTurn(tb)
	client := redisClient(rawURL)
	defer func() { _ = client.Close() }() // only one command
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		tb.Fatalf("empty the database named by %s: %v", redisVariable, err)
	}
	return &RedisServer{tb: tb, url: rawURL, addr: options.Addr}
}

var (
	turnsMu sync.Mutex
	turns   = map[string]bool{} // the names of the tests of this binary that have the turn or wait for it
)

// takeTurn waits until no other test of any process uses the server. The lock
// is a file's, so that it ends with the process; the empty file stays behind.
func takeTurn(tb testing.TB) {
	tb.Helper()
	if !queue(tb.Name()) {
		skip(tb, "this test needs several servers, and "+redisVariable+" names only one")
	}
	tb.Cleanup(func() { unqueue(tb.Name()) })
	name := filepath.Join(os.TempDir(), "flashclaim-test-redis.lock")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() }) // gives the lock back
	Eventually(tb, turnWithin, "the turn of this test on the Redis named by "+redisVariable, func() bool {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			tb.Fatalf("lock %s: %v", name, err)
		}
		return err == nil
	})
}

// queue is false when the test or one that it is part of is in the queue
// already: it would wait for itself.
func queue(test string) bool {
	turnsMu.Lock()
	defer turnsMu.Unlock()
	for end := len(test); end >= 0; end = strings.LastIndexByte(test[:end], '/') {
		if turns[test[:end]] {
			return false
		}
	}
	turns[test] = true
	return true
}

func unqueue(test string) {
	turnsMu.Lock()
	defer turnsMu.Unlock()
	delete(turns, test)
}
