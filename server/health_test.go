package server_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

// failing is a check whose state the test sets.
func failing(name string, fault *atomic.Pointer[error]) server.Check {
	return server.Check{Name: name, Run: func(context.Context) error {
		if err := fault.Load(); err != nil {
			return *err
		}
		return nil
	}}
}

func well(context.Context) error { return nil }

func TestReadiness(t *testing.T) {
	t.Parallel()
	var fault atomic.Pointer[error]
	b := start(t, &testschema.Root{}, func(o *server.Options) {
		o.Checks = []server.Check{{Name: "redis", Run: well}, failing("database", &fault), {Name: "worker", Run: well}}
	})
	away := sale.Unavailable(errors.New("dial with password hunter2"), "the database")
	foreign := errors.New("dial with password hunter2")
	const (
		redisWell  = `{"name":"redis","state":"ok"}`
		dbWell     = `{"name":"database","state":"ok"}`
		workerWell = `{"name":"worker","state":"ok"}`
		dbAway     = `{"name":"database","state":"failing","reason":"the database cannot be reached right now; repeat the same request"}`
		dbForeign  = `{"name":"database","state":"failing","reason":"the cause is in the server's log"}`
	)
	ready := func(checks ...string) string { return `{"ready":true,"checks":[` + strings.Join(checks, ",") + `]}` }
	unready := func(checks ...string) string { return `{"ready":false,"checks":[` + strings.Join(checks, ",") + `]}` }
	steps := []struct {
		fault  *error
		query  string
		status int
		want   string
	}{
		{nil, "", 200, ready(redisWell, dbWell, workerWell)},
		{nil, "?only=redis", 200, ready(redisWell)},
		{&away, "", 503, unready(redisWell, dbAway, workerWell)},
		{&away, "?only=redis", 200, ready(redisWell)},
		{&away, "?only=database", 503, unready(dbAway)},
		{&away, "?only=worker,%20redis", 200, ready(redisWell, workerWell)},
		{&away, "?only=redis&only=database", 503, unready(redisWell, dbAway)},
		{&foreign, "?only=database", 503, unready(dbForeign)},
		{nil, "?only=database", 200, ready(dbWell)},
	}
	for i, step := range steps {
		fault.Store(step.fault)
		got := b.do("GET", "/readyz"+step.query, "")
		if diff := cmp.Diff(step.want, got.body); got.status != step.status || diff != "" {
			t.Errorf("step %d, /readyz%s: status %d, want %d (-want +got):\n%s", i, step.query, got.status, step.status, diff)
		}
	}
}

// TestReadinessRefusesUnknownNames: a probe with a typing mistake must not look
// healthy.
func TestReadinessRefusesUnknownNames(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) {
		o.Checks = []server.Check{{Name: "redis", Run: well}, {Name: "database", Run: well}}
	})
	for query, name := range map[string]string{"?only=redos": "redos", "?only=redis,cache": "cache", "?only=": "", "?only=redis,": ""} {
		got := b.do("GET", "/readyz"+query, "")
		want := `only names no check with \"` + name + `\"; the checks are redis, database`
		if got.status != 400 || got.code() != "BAD_USER_INPUT" || !strings.Contains(got.body, want) {
			t.Errorf("/readyz%s: %d %s, want 400 with %s", query, got.status, got.body, want)
		}
	}
}

// TestReadinessChecksSideBySide: a check that hangs until its deadline must not
// make its neighbours fail.
func TestReadinessChecksSideBySide(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	b := start(t, &testschema.Root{}, func(o *server.Options) {
		o.Limits.ReadyTime = time.Second
		o.Checks = []server.Check{
			{Name: "redis", Run: func(ctx context.Context) error {
				select {
				case <-asked: // only a neighbour that runs meanwhile opens it
					return errors.New("hangs no more")
				case <-ctx.Done():
					return ctx.Err()
				}
			}},
			{Name: "database", Run: func(ctx context.Context) error { close(asked); return ctx.Err() }},
		}
	})
	got := b.do("GET", "/readyz", "")
	if got.status != 503 || !strings.Contains(got.body, `{"name":"database","state":"ok"}`) {
		t.Errorf("one check hangs: %d %s", got.status, got.body)
	}
}
