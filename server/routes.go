package server

import (
	"errors"
	"io"
	"net/http"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server/playground"
)

// route is one line of the table. A nil handler turns the route off.
type route struct {
	pattern string
	handler http.Handler
}

// routes is all that the porch answers. Everything else is a 404 in JSON.
func (s *Server) routes() []route {
	o := s.options
	table := []route{
		{"/graphql", s.api()},
		{"GET /livez", http.HandlerFunc(s.live)},
		{"GET /readyz", http.HandlerFunc(s.readiness)},
		{"GET /metrics", o.Metrics},
		{"GET /schema.graphql", schemaText(o.SDL)},
		{"/", http.HandlerFunc(notFound)},
	}
	if o.Playground != nil {
		page := playground.New(*o.Playground, "/graphql")
		table = append(table,
			route{"GET /playground", page},
			route{"GET /playground/", page},
			route{"GET /{$}", http.RedirectHandler("/playground", http.StatusFound)})
	}
	return table
}

// api is GraphQL behind its identity check, or nil when there is no schema.
func (s *Server) api() http.Handler {
	if s.options.Schema == nil {
		return nil
	}
	return s.admit(s.newGraphQL())
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.routes() {
		if route.handler != nil {
			mux.Handle(route.pattern, route.handler)
		}
	}
	return s.porch(mux)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeFault(w, r, http.StatusNotFound, sale.CodeNotFound, "nothing is served at this path; the API is at /graphql")
}

func schemaText(sdl string) http.Handler {
	if sdl == "" {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, sdl)
	})
}

// messageOf is the sentence of an error that a stranger may read.
func messageOf(err error) string {
	if e := (*sale.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return "the cause is in the server's log"
}
