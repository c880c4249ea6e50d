package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/flashclaim/flashclaim/internal/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines gives the samples of the exposition text whose name has the prefix.
func lines(t *testing.T, m *metrics.Metrics, prefix string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var found []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestEachMethodMovesItsMetric(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		act    func(m *metrics.Metrics)
		prefix string
		want   []string
	}{
		{
			"an accepted claim", func(m *metrics.Metrics) { m.ClaimDecided(metrics.OutcomeAccepted, 2*time.Millisecond) },
			`flashclaim_claims_total{outcome="ACCEPTED"}`,
			[]string{`flashclaim_claims_total{outcome="ACCEPTED"} 1`},
		},
		{
			"a claim's time", func(m *metrics.Metrics) { m.ClaimDecided("SOLD_OUT", 2*time.Millisecond) },
			`flashclaim_claim_seconds_bucket{le="0.00`,
			[]string{
				`flashclaim_claim_seconds_bucket{le="0.0005"} 0`,
				`flashclaim_claim_seconds_bucket{le="0.001"} 0`,
				`flashclaim_claim_seconds_bucket{le="0.0025"} 1`,
				`flashclaim_claim_seconds_bucket{le="0.005"} 1`,
			},
		},
		{
			"an outcome nobody thought of", func(m *metrics.Metrics) { m.ClaimDecided("FORBIDDEN", 0) },
			`flashclaim_claims_total{outcome="FORBIDDEN"}`,
			[]string{`flashclaim_claims_total{outcome="FORBIDDEN"} 1`},
		},
		{
			"a settled batch's orders", func(m *metrics.Metrics) { m.OrdersSettled(7, 2, time.Second) },
			"flashclaim_orders_settled_total",
			[]string{
				`flashclaim_orders_settled_total{status="COMMITTED"} 7`,
				`flashclaim_orders_settled_total{status="REJECTED"} 2`,
			},
		},
		{
			"a settled batch's time", func(m *metrics.Metrics) { m.OrdersSettled(7, 2, time.Second) },
			"flashclaim_commit_seconds_sum",
			[]string{"flashclaim_commit_seconds_sum 1"},
		},
		{
			"a settled batch's size", func(m *metrics.Metrics) { m.OrdersSettled(7, 2, time.Second) },
			"flashclaim_settle_batch_size_sum",
			[]string{"flashclaim_settle_batch_size_sum 9"},
		},
		{
			"a backlog", func(m *metrics.Metrics) { m.Backlog(3, 42, 1500*time.Millisecond) },
			"flashclaim_backlog",
			[]string{
				`flashclaim_backlog_age_seconds{partition="3"} 1.5`,
				`flashclaim_backlog_orders{partition="3"} 42`,
			},
		},
		{
			"a notice", func(m *metrics.Metrics) { m.Notified(15 * time.Millisecond) },
			`flashclaim_claim_to_notify_seconds_bucket{le="0.02"}`,
			[]string{`flashclaim_claim_to_notify_seconds_bucket{le="0.02"} 1`},
		},
		{
			"sockets", func(m *metrics.Metrics) { m.SocketOpened(); m.SocketOpened(); m.SocketClosed() },
			"flashclaim_sockets",
			[]string{"flashclaim_sockets 1", "flashclaim_sockets_opened_total 2"},
		},
		{
			"reclaimed entries", func(m *metrics.Metrics) { m.EntriesReclaimed(4) },
			"flashclaim_entries_reclaimed_total",
			[]string{"flashclaim_entries_reclaimed_total 4"},
		},
		{
			"missing acks", func(m *metrics.Metrics) { m.AckMissing(2) },
			"flashclaim_acks_missing_total",
			[]string{"flashclaim_acks_missing_total 2"},
		},
		{
			"buried entries", func(m *metrics.Metrics) { m.Buried(1) },
			"flashclaim_entries_buried_total",
			[]string{"flashclaim_entries_buried_total 1"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := metrics.New()
			c.act(m)
			if diff := cmp.Diff(c.want, lines(t, m, c.prefix)); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

// A dashboard must be able to tell "none yet" from "not measured".
func TestZerosAreShownBeforeAnythingHappened(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	for _, sample := range []string{
		`flashclaim_claims_total{outcome="ACCEPTED"} 0`,
		`flashclaim_claims_total{outcome="SOLD_OUT"} 0`,
		`flashclaim_orders_settled_total{status="REJECTED"} 0`,
		"flashclaim_sockets 0",
	} {
		if got := lines(t, m, sample); len(got) != 1 {
			t.Errorf("%s is not shown", sample)
		}
	}
}

func TestEveryMetricHasHelpAndTheRuntimeIsIncluded(t *testing.T) {
	t.Parallel()
	m := metrics.New()
	if help := lines(t, m, "# HELP flashclaim_"); len(help) < 10 {
		t.Errorf("only %d help texts: %v", len(help), help)
	}
	for _, name := range []string{"go_goroutines ", "process_resident_memory_bytes "} {
		if len(lines(t, m, name)) != 1 {
			t.Errorf("%s is missing", name)
		}
	}
}

func BenchmarkClaimDecided(b *testing.B) {
	m := metrics.New()
	b.ReportAllocs()
	for b.Loop() {
		m.ClaimDecided("SOLD_OUT", time.Millisecond)
	}
}
