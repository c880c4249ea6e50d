package gate

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestDamagedEntryWaitsForRedis: while the note beside a damaged entry cannot be
// read, the entry must not be handed out, or its buyer would never be told.
func TestDamagedEntryWaitsForRedis(t *testing.T) {
	t.Parallel()
	g, err := Open(Options{URL: "redis://127.0.0.1:1/0", Partitions: 16, Log: slog.New(slog.DiscardHandler)}) // nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	named := redis.XMessage{ID: "1-1", Values: map[string]any{"order": testOrder}}
	nameless := redis.XMessage{ID: "1-2", Values: map[string]any{"order": "x"}}
	entries := g.entries(t.Context(), 3, []redis.XMessage{named, nameless})
	if len(entries) != 1 || entries[0].StreamID != "1-2" {
		t.Errorf("handed out %+v, want only the entry that no note could complete", entries)
	}
}
