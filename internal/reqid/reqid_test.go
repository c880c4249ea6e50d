package reqid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestIDsAreDifferent(t *testing.T) {
	t.Parallel()
	a, b := reqid.New(), reqid.New()
	if len(a) != 26 || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestIDTravelsInTheContext(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if got := reqid.From(ctx); got != "" {
		t.Errorf("outside a request the ID is %q", got)
	}
	inner := reqid.With(reqid.With(ctx, "first"), "second")
	if got := reqid.From(inner); got != "second" {
		t.Errorf("got %q", got)
	}
}

func TestHandlerAddsTheID(t *testing.T) {
	t.Parallel()
	type line = map[string]any
	for name, test := range map[string]struct {
		write func(context.Context, *slog.Logger)
		want  line
	}{
		"plain":           {func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) }, line{"a": 1.0, "request_id": "r"}},
		"with attributes": {func(ctx context.Context, l *slog.Logger) { l.With("a", 1).InfoContext(ctx, "m") }, line{"a": 1.0, "request_id": "r"}},
		"in a group":      {func(ctx context.Context, l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "m") }, line{"g": line{"request_id": "r"}}},
		"no request":      {func(_ context.Context, l *slog.Logger) { l.InfoContext(context.Background(), "m", "a", 1) }, line{"a": 1.0}},
		"below the level": {func(ctx context.Context, l *slog.Logger) { l.DebugContext(ctx, "m") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := slog.New(reqid.Handler(slog.NewJSONHandler(&out, nil)))
			test.write(reqid.With(context.Background(), "r"), log)
			var got line
			if out.Len() > 0 {
				if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				delete(got, "time")
				delete(got, "level")
				delete(got, "msg")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
