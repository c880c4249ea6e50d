package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/flashclaim/flashclaim/internal/sale"
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
//
// ?only=redis,worker runs only the named checks, for a balancer that should keep
// a server whose claims go on while, say, the database is away. A name that is
// no check is answered with 400, because a probe that checks nothing would look
// healthy for ever. A server that goes down is never ready.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) {
	checks, fault := chosen(s.options.Checks, r.URL.Query()["only"])
	if fault != "" {
		writeFault(w, r, http.StatusBadRequest, sale.CodeBadUserInput, fault)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.options.Limits.ReadyTime)
	defer cancel()
	answer := struct {
		Ready  bool         `json:"ready"`
		Checks []checkState `json:"checks"`
	}{Ready: true, Checks: []checkState{}}
	for i, err := range runAll(ctx, checks) {
		state := checkState{Name: checks[i].Name, State: "ok"}
		s.health.note(ctx, s.options.Log, checks[i].Name, err)
		if err != nil {
			answer.Ready = false
			state.State, state.Reason = "failing", messageOf(err)
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

// chosen gives the checks that the lists name, in the order of the checks, and
// all of them when there is no list. The fault is a sentence about a name that
// is no check.
func chosen(all []Check, only []string) (checks []Check, fault string) {
	if len(only) == 0 {
		return all, ""
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(strings.Join(only, ","), ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	known := make([]string, len(all))
	for i, check := range all {
		known[i] = check.Name
		if wanted[check.Name] {
			checks = append(checks, check)
			delete(wanted, check.Name)
		}
	}
	if len(wanted) == 0 {
		return checks, ""
	}
	unknown := slices.Sorted(maps.Keys(wanted))
	return nil, fmt.Sprintf("only names no check with %q; the checks are %s", unknown[0], strings.Join(known, ", "))
}

// runAll runs the checks side by side, so that one that hangs does not take the
// others' time.
func runAll(ctx context.Context, checks []Check) []error {
	faults := make([]error, len(checks))
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() { faults[i] = check.Run(ctx) })
	}
	all.Wait()
	return faults
}

// health remembers which checks fail, so that the log has one line for each
// change and not one for each probe.
type health struct {
	mu      sync.Mutex
	failing map[string]bool
}

func (h *health) note(ctx context.Context, log *slog.Logger, name string, fault error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	failing := fault != nil
	if failing == h.failing[name] {
		return
	}
	if h.failing == nil {
		h.failing = map[string]bool{}
	}
	h.failing[name] = failing
	if failing {
		log.WarnContext(ctx, "readiness check fails", "check", name, "err", fault)
	} else {
		log.InfoContext(ctx, "readiness check passes again", "check", name)
	}
}
