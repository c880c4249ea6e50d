// Package reqid carries a request's ID through a context and into every log
// line that is written with that context. The porch sets the ID; the error
// presenter shows it to the caller, so that a masked error can be found in the
// log.
package reqid

import (
	"context"
	"crypto/rand"
	"log/slog"
)

type key struct{}

// New makes an ID of 26 letters and digits from crypto/rand.
func New() string { return rand.Text() }

// With puts the ID into the context.
func With(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// From gives the ID, or "" outside a request.
func From(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// Handler adds the attribute request_id to every record whose context has one.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := From(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
