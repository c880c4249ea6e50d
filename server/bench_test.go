package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

// BenchmarkNoop is the cost of a mutation that does nothing, with a token: all
// that the porch and gqlgen take from a request, without the network.
func BenchmarkNoop(b *testing.B) {
	verifier, err := NewVerifier(testSecret)
	if err != nil {
		b.Fatal(err)
	}
	token, err := verifier.Sign("ada", nil, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Addr: "127.0.0.1:0", Verifier: verifier, Schema: testschema.New(&testschema.Root{})})
	if err != nil {
		b.Fatal(err)
	}
	h := s.handler()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"query":"mutation Noop { noop }"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Body.String() != `{"data":{"noop":true}}` {
			b.Fatal(w.Body)
		}
	}
}
