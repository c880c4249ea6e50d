package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// stream answers with server-sent events, for networks that do not let
// websockets through: one "next" per response, then "complete". A stream that
// the server has to end (drain, token expiry) just ends, so that clients
// connect again.
func (h overHTTP) stream(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, op *graphql.OperationContext) {
	ctx, cancel := context.WithCancel(graphql.WithOperationContext(r.Context(), op))
	defer cancel()
	if at, ok := h.expires(r); ok {
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	header := w.Header()
	header.Set("Content-Type", typeEvents+"; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events back

	events := &eventWriter{w: w, control: http.NewResponseController(w), deadline: h.write, cancel: cancel}
	_ = events.control.SetReadDeadline(time.Time{}) // the one of the request would end the stream
	events.write([]byte(":\n\n"))
	var keeper sync.WaitGroup
	keeper.Go(func() { h.keep(ctx, events) })
	defer keeper.Wait()
	defer cancel()

	responses, running := exec.DispatchOperation(ctx, op)
	for resp := responses(running); resp != nil; resp = responses(running) {
		events.next(resp)
	}
	if ctx.Err() == nil {
		events.write([]byte("event: complete\ndata:\n\n"))
	}
}

// keep ends the stream when the server drains and keeps proxies from taking
// silence for death.
func (h overHTTP) keep(ctx context.Context, events *eventWriter) {
	tick := time.NewTicker(h.silent)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.ending:
			events.cancel()
			return
		case <-tick.C:
			events.write([]byte(":\n\n"))
		}
	}
}

// eventWriter writes events of one stream, from two goroutines. A client that
// does not read in time ends it.
type eventWriter struct {
	mu       sync.Mutex
	w        http.ResponseWriter
	control  *http.ResponseController
	deadline time.Duration
	cancel   context.CancelFunc
}

func (e *eventWriter) next(resp *graphql.Response) {
	raw, err := json.Marshal(resp)
	if err != nil {
		panic("server: a response cannot be encoded: " + err.Error())
	}
	var event bytes.Buffer
	event.Grow(len(raw) + 32)
	event.WriteString("event: next\ndata: ")
	event.Write(raw)
	event.WriteString("\n\n")
	e.write(event.Bytes())
}

func (e *eventWriter) write(event []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.control.SetWriteDeadline(time.Now().Add(e.deadline))
	_, err := e.w.Write(event)
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		e.cancel()
	}
}
