package gate

import (
	"context"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// busyRetry is what a refused buyer is asked to wait when the backlog is full: a
// worker writes thousands of orders in that time.
const busyRetry = time.Second

// Claim decides a claim in one round trip to Redis. A refusal is a result with
// a problem; a fault is an error with [sale.CodeUnavailable], after which the
// same request may be repeated: if the first one was accepted without our
// hearing of it, the repeat gets the same order.
//
// A result with an order the buyer already has carries only what Redis and the
// order's ID tell: its ID, voucher, quantity and request.
func (g *Gate) Claim(ctx context.Context, c sale.Claim) (result sale.ClaimResult, err error) {
	began := time.Now()
	if g.Observer != nil {
		defer func() { g.Observer.ClaimDecided(c, result, err, time.Since(began)) }()
	}
	if problem := c.Fault(); problem != nil {
		return sale.ClaimResult{Problem: problem}, nil
	}
	if !g.served(c.VoucherID.Partition()) {
		return sale.ClaimResult{Problem: sale.VoucherNotFound{}}, nil
	}
	result, err = g.decide(ctx, c)
	if _, notReady := result.Problem.(sale.NotReady); !notReady {
		return result, err
	}
	switch err := g.Load(ctx, c.VoucherID); sale.CodeOf(err) {
	case sale.CodeNotFound:
		return sale.ClaimResult{Problem: sale.VoucherNotFound{}}, nil
	case "":
		return g.decide(ctx, c)
	default:
		g.Log.WarnContext(ctx, "sale not loaded", "voucher_id", c.VoucherID, "err", err)
		return result, nil
	}
}

func (g *Gate) decide(ctx context.Context, c sale.Claim) (sale.ClaimResult, error) {
	partition := c.VoucherID.Partition()
	id := sale.NewOrderID(partition, g.Now())
	keys := []string{
		saleKey(c.VoucherID), stockKey(c.VoucherID), buyersKey(c.VoucherID), ordersKey(partition), pendingKey(partition),
	}
	cmd, err := g.claims[partition].run(ctx, keys, c.BuyerID, string(id), string(c.VoucherID), c.Quantity, c.RequestID, g.MaxBacklog)
	if err != nil {
		return sale.ClaimResult{}, unavailable(err)
	}
	r, err := replyOf(cmd)
	if err != nil {
		return sale.ClaimResult{}, unavailable(err)
	}
	return g.read(ctx, c, id, r), nil
}

func (g *Gate) read(ctx context.Context, c sale.Claim, id sale.OrderID, r reply) sale.ClaimResult {
	refused := func(p sale.ClaimProblem) sale.ClaimResult { return sale.ClaimResult{Problem: p} }
	switch r.text(0) {
	case "ACCEPTED":
		return sale.ClaimResult{Order: promised(c, id, r.number(1), r.number(2))}
	case "REPLAYED":
		return replayed(c, sale.OrderID(r.text(1)), int(r.number(2)))
	case "LIMIT_REACHED":
		p := sale.LimitReached{PerBuyerLimit: int(r.number(1))}
		if held := r.text(2); held != "" {
			p.Order = known(c, sale.OrderID(held), c.Quantity)
		}
		return refused(p)
	case "NOT_OPEN":
		return refused(sale.SaleNotOpen{OpensAt: time.UnixMilli(r.number(1)).UTC(), ServerTime: time.UnixMilli(r.number(2)).UTC()})
	case "CLOSED":
		return refused(sale.SaleClosed{ClosesAt: time.UnixMilli(r.number(1)).UTC()})
	case "PAUSED":
		return refused(sale.SalePaused{})
	case "SOLD_OUT":
		return refused(sale.SoldOut{Remaining: int(r.number(1))})
	case "BUSY":
		return refused(sale.Busy{RetryAfterMs: int(busyRetry / time.Millisecond)})
	case "NOT_READY":
		return refused(sale.NotReady{})
	case "INVALID":
		return refused(sale.InvalidClaim{Reason: r.text(1) + " is not acceptable"})
	}
	g.Log.ErrorContext(ctx, "claim script gave an unknown answer", "answer", r.text(0), "voucher_id", c.VoucherID)
	return refused(sale.NotReady{})
}

func promised(c sale.Claim, id sale.OrderID, claimedMs, payBeforeMs int64) *sale.Order {
	payBefore := time.UnixMilli(payBeforeMs).UTC()
	return &sale.Order{
		ID: id, VoucherID: c.VoucherID, BuyerID: c.BuyerID, RequestID: c.RequestID, Quantity: c.Quantity,
		Status: sale.StatusPending, Version: 1, ClaimedAt: time.UnixMilli(claimedMs).UTC(), PayBefore: &payBefore,
	}
}

// replayed answers an equal request with its order. Units of 0 mean that the
// order was given back since; its state tells so.
func replayed(c sale.Claim, id sale.OrderID, units int) sale.ClaimResult {
	if units != 0 && units != c.Quantity {
		return sale.ClaimResult{Problem: sale.InvalidClaim{
			Reason: "an earlier claim with this requestId (or, like this one, without any) asked for another quantity; use a new requestId",
		}}
	}
	return sale.ClaimResult{Order: known(c, id, c.Quantity), Replayed: true}
}

// known is an order of which Redis keeps little once it is written down: the
// first state that was promised. The reader looks up the present one.
func known(c sale.Claim, id sale.OrderID, quantity int) *sale.Order {
	return &sale.Order{
		ID: id, VoucherID: c.VoucherID, BuyerID: c.BuyerID, RequestID: c.RequestID, Quantity: quantity,
		Status: sale.StatusPending, Version: 1, ClaimedAt: id.Time(),
	}
}
