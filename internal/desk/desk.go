package desk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Gate decides claims and keeps accepted ones until they are written down.
type Gate interface {
	Claim(ctx context.Context, c sale.Claim) (sale.ClaimResult, error)
	// Pending gives an order that is accepted and not acknowledged, or
	// sale.ErrNotFound.
	Pending(ctx context.Context, id sale.OrderID) (sale.Order, error)
}

// Stock is what moves of vouchers, and the clock that judges them.
type Stock interface {
	Live(ctx context.Context, vouchers []sale.Voucher) ([]sale.Live, error)
	Time(ctx context.Context) (time.Time, error)
}

// Publisher makes vouchers claimable.
type Publisher interface {
	NewVoucherID() sale.VoucherID
	// Publish loads a committed voucher into the gate; it may be repeated.
	Publish(ctx context.Context, id sale.VoucherID) error
}

// Orders are those written down.
type Orders interface {
	Order(ctx context.Context, id sale.OrderID) (sale.Order, error)
	OrdersOf(ctx context.Context, buyerID string, p sale.Page) (sale.Slice[sale.Order], error)
}

// Vouchers are those written down.
type Vouchers interface {
	CreateVoucher(ctx context.Context, v sale.Voucher) error
	Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error)
	// Vouchers lists those in a state, judged at now by what is written down.
	Vouchers(ctx context.Context, state *sale.State, now time.Time, p sale.Page) (sale.Slice[sale.Voucher], error)
}

// Options of a [Desk]. The ports are required.
type Options struct {
	Gate      Gate
	Stock     Stock
	Publisher Publisher
	Orders    Orders
	Vouchers  Vouchers
	Now       func() time.Time // stands in for the gate's clock while that is away; default time.Now
	Log       *slog.Logger
}

// Desk is safe for concurrent use. It keeps nothing but a short memory of
// vouchers.
type Desk struct {
	o        Options
	vouchers memory
}

// New makes a desk; it does no I/O.
func New(o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Desk{o: o}
}

// Claim has the gate decide. An order that the buyer had before (a repeat, or
// the one that fills the limit) comes as it stands now; while the archive is
// away, as it was promised, version 1, which a later look corrects.
func (d *Desk) Claim(ctx context.Context, c sale.Claim) (sale.ClaimResult, error) {
	r, err := d.o.Gate.Claim(ctx, c)
	if err != nil {
		return sale.ClaimResult{}, err
	}
	if r.Replayed {
		r.Order = d.present(ctx, *r.Order)
	}
	if p, ok := r.Problem.(sale.LimitReached); ok && p.Order != nil {
		p.Order = d.present(ctx, *p.Order)
		r.Problem = p
	}
	return r, nil
}

func (d *Desk) present(ctx context.Context, promised sale.Order) *sale.Order {
	o, err := d.Order(ctx, promised.BuyerID, promised.ID)
	if err != nil {
		d.o.Log.WarnContext(ctx, "order shown as promised", "order_id", promised.ID, "err", err)
		return &promised
	}
	return &o
}

// Order gives an order of the buyer, pending or written down. Errors:
// [sale.ErrNotFound] when there is none or it is another buyer's, after the same
// look-ups; [sale.CodeUnavailable] when it cannot be known.
func (d *Desk) Order(ctx context.Context, buyerID string, id sale.OrderID) (sale.Order, error) {
	id, err := sale.ParseOrderID(string(id))
	if err != nil {
		return sale.Order{}, err
	}
	o, pendingErr := d.o.Gate.Pending(ctx, id)
	if pendingErr == nil && o.BuyerID == buyerID {
		return o, nil
	}
	o, err = d.o.Orders.Order(ctx, id)
	switch {
	case err == nil && o.BuyerID == buyerID:
		return o, nil
	case err == nil:
		return sale.Order{}, sale.ErrNotFound
	case errors.Is(err, sale.ErrNotFound) && pendingErr != nil:
		return sale.Order{}, pendingErr // NOT_FOUND too, unless Redis is away
	}
	return sale.Order{}, err
}

// OrdersOf lists the buyer's orders that are written down, newest first.
func (d *Desk) OrdersOf(ctx context.Context, buyerID string, p sale.Page) (sale.Slice[sale.Order], error) {
	return d.o.Orders.OrdersOf(ctx, buyerID, p)
}

// Time is the clock that judges sale windows; while Redis is away, our own.
func (d *Desk) Time(ctx context.Context) (time.Time, error) {
	now, err := d.o.Stock.Time(ctx)
	if err != nil {
		d.o.Log.WarnContext(ctx, "server time from this process", "err", err)
		return sale.Timestamp(d.o.Now()), nil
	}
	return now, nil
}
