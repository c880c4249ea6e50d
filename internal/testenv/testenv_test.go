//go:build unix

package testenv

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// orphanVariable makes the test binary a parent that starts a Redis in the
// folder it names, prints the address and is then killed.
const orphanVariable = "FLASHCLAIM_TESTENV_ORPHAN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanVariable); dir != "" {
		s, err := newRedis(dir, nil)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.Addr())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	Main(m)
}

func client(t *testing.T, rawURL string) *redis.Client {
	t.Helper()
	c := redisClient(rawURL)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestRedisIsPrivateAndForgets(t *testing.T) {
	t.Parallel()
	one, two := Redis(t), Redis(t)
	if one.Addr() == two.Addr() {
		t.Fatalf("both servers are on %s", one.Addr())
	}
	c := client(t, one.URL())
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := client(t, two.URL()).Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("the second server has the first one's key")
	}
	one.Kill()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answered")
	}
	one.Start()
	if n, err := c.Exists(t.Context(), "k").Result(); n != 0 || err != nil {
		t.Errorf("after kill and start: %d keys, %v; want an empty server on the same port", n, err)
	}
}

func TestRedisArgumentsWin(t *testing.T) {
	t.Parallel()
	s := Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	c := client(t, s.URL())
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Start()
	if v, err := c.Get(t.Context(), "k").Result(); v != "v" {
		t.Errorf("after kill -9 with an append-only file: %q, %v", v, err)
	}
	s.Stop()
	s.Stop() // does nothing
	s.Start()
	if v, err := c.Get(t.Context(), "k").Result(); v != "v" {
		t.Errorf("after stop and start: %q, %v", v, err)
	}
}

func TestRedisPausedIsSilent(t *testing.T) {
	t.Parallel()
	s := Redis(t)
	options, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.ReadTimeout, options.MaxRetries = 50*time.Millisecond, -1
	c := redis.NewClient(options)
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	var slow net.Error
	if err := c.Ping(t.Context()).Err(); !asTimeout(err, &slow) {
		t.Errorf("a paused server gave %v, want a time-out", err)
	}
	s.Resume()
	Eventually(t, time.Minute, "an answer after Resume", func() bool { return c.Ping(t.Context()).Err() == nil })
	s.Pause() // the cleanup must cope
}

func asTimeout(err error, target *net.Error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // the client gives the network's error itself
	*target = e
	return ok && e.Timeout()
}

func TestRedisClusterServesAllSlots(t *testing.T) {
	t.Parallel()
	urls := RedisCluster(t, 3)
	addrs := make([]string, len(urls))
	for i, rawURL := range urls {
		addrs[i] = client(t, rawURL).Options().Addr
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer c.Close()
	for i := range 16 {
		key := fmt.Sprintf("fc:{p%02d}:probe", i)
		if err := c.Set(t.Context(), key, i, 0).Err(); err != nil {
			t.Fatalf("set %s: %v", key, err)
		}
	}
	var used int
	for _, rawURL := range urls {
		if n := client(t, rawURL).DBSize(t.Context()).Val(); n > 0 {
			used++
		}
	}
	if used != 3 {
		t.Errorf("%d of 3 nodes hold keys", used)
	}
}

func open(t *testing.T, rawURL string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDatabasesAreSeparateAndDropped(t *testing.T) {
	t.Parallel()
	var gone string
	t.Run("use", func(t *testing.T) { // not parallel: its cleanup is part of the test
		one, two := Database(t), Database(t)
		gone = one
		mustExec(t, open(t, one), "CREATE TABLE only_here (n int)")
		var tables int
		const count = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
		if err := open(t, two).QueryRowContext(t.Context(), count).Scan(&tables); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(0, tables); diff != "" {
			t.Errorf("tables in the second database (-want +got):\n%s", diff)
		}
	})
	err := open(t, gone).PingContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a dropped database gave %v", err)
	}
}

func TestPostgresSurvivesItsCrash(t *testing.T) {
	t.Parallel()
	s := Postgres(t, WithFsync(), WithSetting("max_connections", "20"))
	db := open(t, s.URL("postgres"))
	mustExec(t, db, "CREATE TABLE kept AS SELECT 42 AS n")
	s.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a killed server answered")
	}
	s.Start()
	var n, connections int
	var fsync string
	const read = `SELECT n, current_setting('fsync'), current_setting('max_connections')::int FROM kept`
	if err := db.QueryRowContext(t.Context(), read).Scan(&n, &fsync, &connections); err != nil {
		t.Fatal(err)
	}
	if n != 42 || fsync != "on" || connections != 20 {
		t.Errorf("after the crash: n=%d fsync=%s max_connections=%d, want 42 on 20", n, fsync, connections)
	}
	s.Stop()
	s.Start()
	if err := open(t, s.URL("postgres")).PingContext(t.Context()); err != nil {
		t.Errorf("after stop and start on %s: %v", s.Addr(), err)
	}
}

func TestServersDieWithTheTestBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), orphanVariable+"="+tempDir(t, "orphan"))
	var out bytes.Buffer
	parent.Stdout = &out
	if err := parent.Run(); err == nil {
		t.Fatalf("the parent ended by itself: %s", out.String())
	}
	addr := strings.TrimSpace(out.String())
	if _, _, err := net.SplitHostPort(addr); err != nil {
		t.Fatalf("the parent printed %q, not an address", addr)
	}
	Eventually(t, time.Minute, "the end of the orphan's Redis", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
}
