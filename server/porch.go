package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
)

const headerRequestID = "X-Request-Id"

// porch is what every request passes: recovery and the request ID.
func (s *Server) porch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !requestIDWellFormed(id) {
			id = reqid.New()
		}
		ctx := reqid.With(r.Context(), id)
		defer s.recoverFrom(ctx, w)
		h := w.Header()
		h[headerRequestID] = []string{id}
		h["X-Content-Type-Options"] = nosniff
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

var nosniff = []string{"nosniff"}

// recoverFrom keeps a panic in one request from ending the process, and says
// nothing about it to the client.
func (s *Server) recoverFrom(ctx context.Context, w http.ResponseWriter) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // net/http's own way to cut an answer off
	}
	s.options.Log.ErrorContext(ctx, "request panicked", "panic", p, "stack", string(debug.Stack()))
	writeFault(w, (&http.Request{}).WithContext(ctx), http.StatusInternalServerError, sale.CodeInternal, "internal server error")
}

// requestIDWellFormed keeps what we echo and log short and harmless.
func requestIDWellFormed(id string) bool {
	for i := range len(id) {
		c := id[i]
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return 0 < len(id) && len(id) <= 64
}

// admit is what a GraphQL request passes besides: cross-origin rules, the body
// limit and identity.
func (s *Server) admit(next http.Handler) http.Handler {
	limit := s.options.Limits.BodyBytes
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.origins.share(w, r) {
			return
		}
		if r.ContentLength > limit {
			fault := bodyTooLarge(limit)
			writeFault(w, r, fault.status, sale.CodeBadUserInput, fault.message)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		if authorization := r.Header.Get("Authorization"); authorization != "" {
			pass, err := s.options.Verifier.Verify(authorization)
			if err != nil {
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
				writeFault(w, r, http.StatusUnauthorized, sale.CodeUnauthenticated, messageOf(err))
				return
			}
			r = r.WithContext(sale.WithViewer(r.Context(), pass.Viewer))
		}
		next.ServeHTTP(w, r)
	})
}

// expiryOf gives the expiry of the token that admit has accepted.
func (s *Server) expiryOf(r *http.Request) (time.Time, bool) {
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return time.Time{}, false
	}
	pass, err := s.options.Verifier.Verify(authorization)
	return pass.ExpiresAt, err == nil
}

func bodyTooLarge(limit int64) *paramsFault {
	return &paramsFault{
		status:  http.StatusRequestEntityTooLarge,
		message: fmt.Sprintf("the request body is larger than %d bytes", limit),
	}
}
