package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// OutcomeAccepted is the outcome of a claim that got an order. Every other
// outcome is a [sale.ClaimProblemCode] or, for a fault, a [sale.Code].
const OutcomeAccepted = "ACCEPTED"

// Buckets of the histograms, in seconds or in orders.
var (
	claimBuckets  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	commitBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	notifyBuckets = []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60}
	batchBuckets  = []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}
)

// Metrics holds all of flashclaim's metrics and a registry of its own, so that
// several may live in one process.
type Metrics struct {
	registry *prometheus.Registry

	claims    outcomes
	claimTook prometheus.Histogram

	committed, rejected prometheus.Counter
	commitTook          prometheus.Histogram
	batchSize           prometheus.Histogram
	reclaimed           prometheus.Counter
	ackMissing          prometheus.Counter
	buried              prometheus.Counter
	backlog             *prometheus.GaugeVec
	backlogAge          *prometheus.GaugeVec

	notifyTook    prometheus.Histogram
	sockets       prometheus.Gauge
	socketsOpened prometheus.Counter
}

// New makes the metrics, the Go runtime's and the process's included.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	k := maker{registry}
	m := &Metrics{
		registry:  registry,
		claims:    newOutcomes(k.counters("claims_total", "Claims judged, by outcome: ACCEPTED, the code of a refusal, or the code of a fault.", "outcome")),
		claimTook: k.histogram("claim_seconds", "Time to judge a claim, as the resolver sees it.", claimBuckets),

		commitTook: k.histogram("commit_seconds", "Time to settle one batch in the database, from its first statement to its commit.", commitBuckets),
		batchSize:  k.histogram("settle_batch_size", "Orders in one settled batch.", batchBuckets),
		reclaimed:  k.counter("entries_reclaimed_total", "Entries taken over from a worker that did not finish them."),
		ackMissing: k.counter("acks_missing_total", "Acks that found no pending entry: it was settled by somebody else or is lost."),
		buried:     k.counter("entries_buried_total", "Entries put aside because no retry can heal them."),
		backlog:    k.gauges("backlog_orders", "Accepted claims that wait to be settled.", "partition"),
		backlogAge: k.gauges("backlog_age_seconds", "Age of the oldest accepted claim that waits to be settled; 0 when none does.", "partition"),

		notifyTook:    k.histogram("claim_to_notify_seconds", "Time from an order's claim to its subscriber's news of it.", notifyBuckets),
		sockets:       k.gauge("sockets", "Websockets open now."),
		socketsOpened: k.counter("sockets_opened_total", "Websockets opened."),
	}
	settled := k.counters("orders_settled_total", "Orders settled, by their new status.", "status")
	m.committed = settled.WithLabelValues(string(sale.StatusCommitted))
	m.rejected = settled.WithLabelValues(string(sale.StatusRejected))
	return m
}

// Handler serves the metrics in Prometheus's text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// ClaimDecided counts a claim that was answered. The outcome is
// [OutcomeAccepted], a [sale.ClaimProblemCode] or a [sale.Code].
func (m *Metrics) ClaimDecided(outcome string, took time.Duration) {
	m.claims.count(outcome)
	m.claimTook.Observe(took.Seconds())
}

// OrdersSettled counts one batch that is committed: how many of its orders were
// taken and refused, and how long the database took.
func (m *Metrics) OrdersSettled(committed, rejected int, took time.Duration) {
	m.committed.Add(float64(committed))
	m.rejected.Add(float64(rejected))
	m.commitTook.Observe(took.Seconds())
	m.batchSize.Observe(float64(committed + rejected))
}

// Backlog sets how many accepted claims of a partition wait, and how old the
// oldest is.
func (m *Metrics) Backlog(partition int, pending int64, lag time.Duration) {
	label := strconv.Itoa(partition)
	m.backlog.WithLabelValues(label).Set(float64(pending))
	m.backlogAge.WithLabelValues(label).Set(lag.Seconds())
}

// Notified counts a subscriber's news of an order, by the time since its claim.
func (m *Metrics) Notified(sinceClaim time.Duration) { m.notifyTook.Observe(sinceClaim.Seconds()) }

// SocketOpened counts a websocket that was opened.
func (m *Metrics) SocketOpened() {
	m.sockets.Inc()
	m.socketsOpened.Inc()
}

// SocketClosed counts a websocket that is gone.
func (m *Metrics) SocketClosed() { m.sockets.Dec() }

// EntriesReclaimed counts n entries that were taken over.
func (m *Metrics) EntriesReclaimed(n int) { m.reclaimed.Add(float64(n)) }

// AckMissing counts n acks that found no pending entry.
func (m *Metrics) AckMissing(n int) { m.ackMissing.Add(float64(n)) }

// Buried counts n entries that were put aside.
func (m *Metrics) Buried(n int) { m.buried.Add(float64(n)) }

// outcomes counts claims by outcome. The children of the usual outcomes are
// resolved beforehand: this is the hot path, and it also shows their zeros.
type outcomes struct {
	usual map[string]prometheus.Counter
	all   *prometheus.CounterVec
}

func newOutcomes(all *prometheus.CounterVec) outcomes {
	usual := map[string]prometheus.Counter{OutcomeAccepted: all.WithLabelValues(OutcomeAccepted)}
	for _, code := range []sale.ClaimProblemCode{
		sale.ProblemSoldOut, sale.ProblemNotOpen, sale.ProblemClosed, sale.ProblemPaused, sale.ProblemLimitReached,
		sale.ProblemNotReady, sale.ProblemBusy, sale.ProblemRateLimited, sale.ProblemNotFound, sale.ProblemInvalid,
	} {
		usual[string(code)] = all.WithLabelValues(string(code))
	}
	for _, code := range []sale.Code{sale.CodeUnavailable, sale.CodeInternal} {
		usual[string(code)] = all.WithLabelValues(string(code))
	}
	return outcomes{usual, all}
}

func (o outcomes) count(outcome string) {
	if c, ok := o.usual[outcome]; ok {
		c.Inc()
		return
	}
	o.all.WithLabelValues(outcome).Inc()
}
