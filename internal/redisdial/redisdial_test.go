package redisdial

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// named is what a URL says.
type named struct {
	Addrs                    []string
	DB                       int
	Master                   string
	Username, Password       string
	SentinelUser, SentinelPw string
	TLS                      bool
}

func TestForms(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]named{
		"redis://127.0.0.1:6379/0":              {Addrs: []string{"127.0.0.1:6379"}},
		"redis://127.0.0.1:6379":                {Addrs: []string{"127.0.0.1:6379"}},
		"redis://h":                             {Addrs: []string{"h:6379"}},
		"redis://h:1/7":                         {Addrs: []string{"h:1"}, DB: 7},
		"redis://u:pw@h:1/2":                    {Addrs: []string{"h:1"}, DB: 2, Username: "u", Password: "pw"},
		"redis://:pw@h:1":                       {Addrs: []string{"h:1"}, Password: "pw"},
		"redis://u:p%40%2F%2C@h:1":              {Addrs: []string{"h:1"}, Username: "u", Password: "p@/,"},
		"redis://[::1]:6379/0":                  {Addrs: []string{"[::1]:6379"}},
		"rediss://h:1":                          {Addrs: []string{"h:1"}, TLS: true},
		"redis://a:1,b:2,c:3":                   {Addrs: []string{"a:1", "b:2", "c:3"}},
		"redis://a:1,b:2/0":                     {Addrs: []string{"a:1", "b:2"}},
		"redis://u:pw@a:1,b:2":                  {Addrs: []string{"a:1", "b:2"}, Username: "u", Password: "pw"},
		"rediss://a:1,b:2":                      {Addrs: []string{"a:1", "b:2"}, TLS: true},
		"redis://a:1/0,redis://b:2/0":           {Addrs: []string{"a:1", "b:2"}},
		"redis://h/?db=4":                       {Addrs: []string{"h:6379"}, DB: 4},
		"redis://u:pw@a:1/0,redis://u:pw@b:2/0": {Addrs: []string{"a:1", "b:2"}, Username: "u", Password: "pw"},
		"redis://u:p%2C@a:1,b":                  {Addrs: []string{"a:1", "b:6379"}, Username: "u", Password: "p,"},
		"redis://u:a,b@a:1":                     {Addrs: []string{"a:1"}, Username: "u", Password: "a,b"},
		"redis+sentinel://a:1/m":                {Addrs: []string{"a:1"}, Master: "m"},
		"redis+sentinel://a:1,b:2/m/3":          {Addrs: []string{"a:1", "b:2"}, Master: "m", DB: 3},
		"redis+sentinel://u:pw@a:1,b:2/m/":      {Addrs: []string{"a:1", "b:2"}, Master: "m", Username: "u", Password: "pw"},
	} {
		t.Run(strings.ReplaceAll(url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			o, err := parse(url)
			if err != nil {
				t.Fatal(err)
			}
			got := named{
				o.Addrs, o.DB, o.MasterName, o.Username, o.Password, o.SentinelUsername, o.SentinelPassword, o.TLSConfig != nil,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFaults: a wrong URL is refused in one sentence that never shows the
// password, because the sentence goes to a log.
func TestFaults(t *testing.T) {
	t.Parallel()
	const secret = "s3cretPw"
	for name, url := range map[string]string{
		"empty":                          "",
		"no scheme":                      "127.0.0.1:6379",
		"no scheme, with a password":     "u:" + secret + "@h:6379",
		"another scheme":                 "http://u:" + secret + "@h",
		"scheme misspelt":                "redsi://u:" + secret + "@h",
		"database is a word":             "redis://u:" + secret + "@h:1/zero",
		"database is negative":           "redis://u:" + secret + "@h:1/-1",
		"two databases":                  "redis://u:" + secret + "@h:1/1/2",
		"cluster with a database":        "redis://u:" + secret + "@a:1,b:2/3",
		"port is a word":                 "redis://u:" + secret + "@h:port",
		"space in the host":              "redis://u:" + secret + "@h h:1",
		"percent at the end":             "redis://u:" + secret + "%@h:1",
		"percent and a slash":            "redis://u:" + secret + "/%zz@h:1",
		"unknown option":                 "redis://u:" + secret + "@h:1/0?sharks=1",
		"empty node":                     "redis://u:" + secret + "@a:1,,b:2",
		"node with a word as port":       "redis://u:" + secret + "@a:1,b:two",
		"port 0":                         "redis://u:" + secret + "@a:0",
		"port too high":                  "redis://u:" + secret + "@a:70000",
		"raw slash, digits before it":    "redis://u:6379/" + secret + "@h:1",
		"raw question mark":              "redis://u:6379?" + secret + "@h:1",
		"no @ behind the password":       "redis://u:" + secret + ":6379",
		"no host":                        "redis://u:" + secret + "@",
		"sentinel without a master":      "redis+sentinel://u:" + secret + "@a:1",
		"sentinel with a path too long":  "redis+sentinel://u:" + secret + "@a:1/m/0/x",
		"sentinel, database is a word":   "redis+sentinel://u:" + secret + "@a:1/m/zero",
		"sentinel, database and more":    "redis+sentinel://u:" + secret + "@a:1/m/0zero",
		"sentinel, database is negative": "redis+sentinel://u:" + secret + "@a:1/m/-1",
		"sentinel, port is a word":       "redis+sentinel://u:" + secret + "@a:port/m",
		"sentinel, empty node":           "redis+sentinel://u:" + secret + "@a:1,/m",
		"sentinel without a port":        "redis+sentinel://u:" + secret + "@a/m",
		"sentinel with an option":        "redis+sentinel://u:" + secret + "@a:1/m?db=1",
		"control character":              "redis://u:" + secret + "\x7f@h:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := Open(url, Purpose{PoolSize: 1})
			if err == nil {
				_ = client.Close()
				t.Fatalf("%q was accepted", url)
			}
			if s := err.Error(); strings.Contains(s, secret) || strings.ContainsAny(s, "\n") || !strings.Contains(s, "Redis URL") {
				t.Errorf("%q: %s", url, s)
			}
		})
	}
}

// TestOpenDoesNoIO: a client of a server that is away is made at once, and what
// kind it is follows from the URL.
func TestOpenDoesNoIO(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]redis.UniversalClient{
		"redis://127.0.0.1:1":              &redis.Client{},
		"redis://127.0.0.1:1,127.0.0.1:2":  &redis.ClusterClient{},
		"redis+sentinel://127.0.0.1:1/m":   &redis.Client{},
		"redis+sentinel://127.0.0.1:1/m/1": &redis.Client{},
	} {
		client, err := Open(url, Purpose{PoolSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, wantCluster := want.(*redis.ClusterClient)
		if _, cluster := client.(*redis.ClusterClient); cluster != wantCluster {
			t.Errorf("%s gives a %T", url, client)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBlockingClientOutlivesItsBlock guards B15: a blocking read that finds
// nothing is an empty answer, not a time-out, even when it blocks longest.
func TestBlockingClientOutlivesItsBlock(t *testing.T) {
	t.Parallel()
	client, err := Open(testenv.Redis(t).URL(), Purpose{PoolSize: 1, Blocking: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	began := time.Now()
	_, err = client.XRead(context.Background(), &redis.XReadArgs{Streams: []string{"s", "0"}, Block: MaxBlock}).Result()
	if err != redis.Nil || time.Since(began) < MaxBlock { //nolint:errorlint // go-redis returns it unwrapped
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// TestRefusedConnectionIsToldSoon: while Redis is away, each buyer must hear so
// at once; the client must not try and wait on its own.
func TestRefusedConnectionIsToldSoon(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	server.Stop()
	client, err := Open(server.URL(), Purpose{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	began := time.Now()
	if err := client.Ping(context.Background()).Err(); err == nil {
		t.Fatal("nobody answered")
	}
	if took := time.Since(began); took > 350*time.Millisecond {
		t.Errorf("it took %s to hear that the connection is refused", took)
	}
}
