package app

import (
	"context"
	"time"

	"github.com/flashclaim/flashclaim/internal/metrics"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
)

// Narrator is told what happens to orders, one call a fact. Its methods must not
// block.
type Narrator interface {
	Claimed(c sale.Claim, r sale.ClaimResult, fault error)
	Settled(o sale.Order)
	Notified(o sale.Order, watchers int)
}

// observer hears of everything and passes it to the metrics and the narrator.
type observer struct {
	metrics  *metrics.Metrics
	narrator Narrator
}

func (o observer) ClaimDecided(c sale.Claim, r sale.ClaimResult, fault error, took time.Duration) {
	o.metrics.ClaimDecided(outcome(r, fault), took)
	if o.narrator != nil {
		o.narrator.Claimed(c, r, fault)
	}
}

// outcome is a claim's label in the metrics.
func outcome(r sale.ClaimResult, fault error) string {
	switch {
	case fault != nil:
		return string(sale.CodeOf(fault))
	case r.Problem != nil:
		return string(r.Problem.Code())
	case r.Replayed:
		return "REPLAYED"
	}
	return "ACCEPTED"
}

func (o observer) OrdersSettled(orders []sale.Order, took time.Duration) {
	rejected := 0
	for _, order := range orders {
		if order.Status == sale.StatusRejected {
			rejected++
		}
		if o.narrator != nil {
			o.narrator.Settled(order)
		}
	}
	o.metrics.OrdersSettled(len(orders)-rejected, rejected, took)
}

func (o observer) EntriesReclaimed(_, entries, _ int) { o.metrics.EntriesReclaimed(entries) }

func (o observer) AcksMissing(_, entries int) { o.metrics.AckMissing(entries) }

func (o observer) EntryBuried(sale.DeadLetter) { o.metrics.Buried(1) }

func (o observer) OrderNotified(order sale.Order, watchers int) {
	o.metrics.Notified(time.Since(order.ClaimedAt))
	if o.narrator != nil {
		o.narrator.Notified(order, watchers)
	}
}

// listing gives the archive's vouchers in the form that the desk asks for.
type listing struct{ *store.Archive }

func (l listing) Vouchers(ctx context.Context, state *sale.State, now time.Time, p sale.Page) (sale.Slice[sale.Voucher], error) {
	return l.Archive.Vouchers(ctx, store.VoucherFilter{State: state, Now: now}, p)
}
