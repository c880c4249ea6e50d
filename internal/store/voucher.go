package store

import (
	"context"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/ent/predicate"
	"github.com/flashclaim/flashclaim/ent/voucher"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// CreateVoucher writes a voucher down; nothing of it is sold yet. A voucher of
// the same ID is refused. The error is of code UNAVAILABLE when time heals it;
// the outcome may then be unknown, and [Archive.Voucher] tells.
func (a *Archive) CreateVoucher(ctx context.Context, v sale.Voucher) (err error) {
	defer sale.Wrap(&err, "create voucher %s", v.ID)
	return write(ctx, a, func(tx *ent.Tx) error {
		return tx.Voucher.Create().
			SetID(v.ID).
			SetTitle(v.Title).
			SetNillableSubtitle(v.Subtitle).
			SetRules(v.Rules).
			SetNillableShopID(v.ShopID).
			SetPayMinor(v.PayValue.Minor).SetPayCurrency(v.PayValue.Currency).
			SetActualMinor(v.ActualValue.Minor).SetActualCurrency(v.ActualValue.Currency).
			SetTotal(v.Total).
			SetPerBuyerLimit(v.PerBuyerLimit).
			SetPaymentWindowSeconds(v.PaymentWindowSeconds()).
			SetOpensAt(sale.Timestamp(v.OpensAt)).
			SetClosesAt(sale.Timestamp(v.ClosesAt)).
			SetPaused(v.Paused).
			SetEpoch(v.Epoch).
			SetSold(0).
			SetCreatedAt(a.stamp()).
			Exec(ctx)
	})
}

// Voucher reads one voucher. The error is [sale.ErrNotFound], or of code
// UNAVAILABLE.
func (a *Archive) Voucher(ctx context.Context, id sale.VoucherID) (_ sale.Voucher, err error) {
	defer sale.Wrap(&err, "read voucher %s", id)
	row, err := a.client.Voucher.Get(ctx, id)
	if err != nil {
		return sale.Voucher{}, found(err)
	}
	return voucherOf(row), nil
}

// VoucherFilter narrows the list of vouchers.
type VoucherFilter struct {
	// State keeps the vouchers in that state; nil keeps all. It is judged by
	// Now and by what the archive knows as sold, which lags behind the gate
	// during a rush.
	State *sale.State
	Now   time.Time
}

// Vouchers lists vouchers, newest first. The error is a [sale.InputError] about
// the page, or of code UNAVAILABLE.
func (a *Archive) Vouchers(ctx context.Context, f VoucherFilter, p sale.Page) (_ sale.Slice[sale.Voucher], err error) {
	defer sale.Wrap(&err, "list vouchers")
	w, err := p.Window()
	if err != nil {
		return sale.Slice[sale.Voucher]{}, err
	}
	query := a.client.Voucher.Query()
	if f.State != nil {
		query.Where(inState(*f.State, sale.Timestamp(f.Now)))
	}
	rows, err := query.Where(inWindow(w, voucher.FieldCreatedAt)).Limit(w.Limit + 1).All(ctx)
	if err != nil {
		return sale.Slice[sale.Voucher]{}, unavailable(err)
	}
	list := sale.NewSlice(w, rows, func(row *ent.Voucher) sale.Cursor {
		return sale.Cursor{At: row.CreatedAt, ID: string(row.ID)}
	})
	return mapSlice(list, voucherOf), nil
}

// Partitions is the number of partitions that the vouchers need: the highest one
// in use plus one, 0 without vouchers. A server with fewer must not start. The
// error is of code UNAVAILABLE.
func (a *Archive) Partitions(ctx context.Context) (_ int, err error) {
	defer sale.Wrap(&err, "read the highest partition in use")
	// The partition is what an ID begins with, so the last ID has the highest.
	last, err := a.client.Voucher.Query().Order(ent.Desc(voucher.FieldID)).FirstID(ctx)
	if ent.IsNotFound(err) {
		return 0, nil
	}
	return last.Partition() + 1, unavailable(err)
}

// inState is [sale.Voucher.LiveAt] in SQL, with the archive's own count of what
// is sold.
func inState(state sale.State, now time.Time) predicate.Voucher {
	open := voucher.And(voucher.Paused(false), voucher.OpensAtLTE(now), voucher.ClosesAtGT(now))
	switch state {
	case sale.StatePaused:
		return voucher.Paused(true)
	case sale.StateScheduled:
		return voucher.And(voucher.Paused(false), voucher.OpensAtGT(now))
	case sale.StateClosed:
		return voucher.And(voucher.Paused(false), voucher.OpensAtLTE(now), voucher.ClosesAtLTE(now))
	case sale.StateSoldOut:
		return voucher.And(open, entsql.FieldsLTE(voucher.FieldTotal, voucher.FieldSold))
	default:
		return voucher.And(open, entsql.FieldsGT(voucher.FieldTotal, voucher.FieldSold))
	}
}

func voucherOf(row *ent.Voucher) sale.Voucher {
	return sale.Voucher{
		ID: row.ID, Title: row.Title, Subtitle: row.Subtitle, Rules: row.Rules, ShopID: row.ShopID,
		PayValue:    sale.Money{Minor: row.PayMinor, Currency: row.PayCurrency},
		ActualValue: sale.Money{Minor: row.ActualMinor, Currency: row.ActualCurrency},
		Total:       row.Total, PerBuyerLimit: row.PerBuyerLimit,
		PaymentWindow: time.Duration(row.PaymentWindowSeconds) * time.Second,
		OpensAt:       sale.Timestamp(row.OpensAt), ClosesAt: sale.Timestamp(row.ClosesAt),
		Paused: row.Paused, Epoch: row.Epoch, Sold: row.Sold,
	}
}
