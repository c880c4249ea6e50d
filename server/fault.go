package server

import (
	"encoding/json"
	"net/http"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// The media types of an answer.
const (
	typeJSON    = "application/json"
	typeGraphQL = "application/graphql-response+json"
	typeEvents  = "text/event-stream"
)

// writeFault answers with an HTTP status and one error in the shape that every
// GraphQL client reads.
func writeFault(w http.ResponseWriter, r *http.Request, status int, code sale.Code, message string) {
	extensions := map[string]any{"code": code}
	if id := reqid.From(r.Context()); id != "" {
		extensions["requestId"] = id
	}
	w.Header().Set("Content-Type", errorType(r))
	w.WriteHeader(status)
	writeJSON(w, map[string]any{"errors": gqlerror.List{{Message: message, Extensions: extensions}}})
}

// errorType is the media type of an answer without data: a client that streams
// must not be told that a refusal is a stream.
func errorType(r *http.Request) string {
	if accepted(r.Header.Get("Accept")) == typeGraphQL {
		return typeGraphQL
	}
	return typeJSON
}

func writeJSON(w http.ResponseWriter, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("server: an answer cannot be encoded: " + err.Error())
	}
	_, _ = w.Write(raw) // the client may be gone
}
