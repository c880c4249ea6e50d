package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
)

// live says that the process runs and serves; nothing that it depends on is
// asked, because a restart would not heal that.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	writeJSON(w, map[string]string{"state": "ok"})
}

// checkState is one check as /readyz shows it.
type checkState struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok or failing
	Reason string `json:"reason,omitempty"`
}

// readiness answers 200 when every check passes, else 503. A reason is shown
// only where it was written for strangers; the log has the rest.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.options.Limits.ReadyTime)
	defer cancel()
	answer := struct {
		Ready  bool         `json:"ready"`
		Checks []checkState `json:"checks"`
	}{Ready: true, Checks: []checkState{}}
	for _, check := range s.options.Ready(ctx) {
		state := checkState{Name: check.Name, State: "ok"}
		s.health.note(ctx, s.options.Log, check)
		if check.Err != nil {
			answer.Ready = false
			state.State, state.Reason = "failing", messageOf(check.Err)
		}
		answer.Checks = append(answer.Checks, state)
	}
	if s.draining.Load() {
		answer.Ready = false
		answer.Checks = append(answer.Checks, checkState{Name: "server", State: "failing", Reason: "going down"})
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Cache-Control", "no-store")
	if !answer.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	writeJSON(w, answer)
}

// health remembers which checks fail, so that the log has one line for each
// change and not one for each probe.
type health struct {
	mu      sync.Mutex
	failing map[string]bool
}

func (h *health) note(ctx context.Context, log *slog.Logger, check Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failing := check.Err != nil
	if failing == h.failing[check.Name] {
		return
	}
	if h.failing == nil {
		h.failing = map[string]bool{}
	}
	h.failing[check.Name] = failing
	if failing {
		log.WarnContext(ctx, "readiness check fails", "check", check.Name, "err", check.Err)
	} else {
		log.InfoContext(ctx, "readiness check passes again", "check", check.Name)
	}
}
