package store

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/ent/voucher"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Settle decides a batch of one voucher's entries in one transaction and returns
// one order for each entry, in the same order. An accepted one is COMMITTED, a
// refused one REJECTED with its units due for release; both are version 2. An
// order that has a row already is returned as it stands, so a batch may be
// settled again, in parts or as a whole, by anybody.
//
// When one entry cannot be written, nothing is, and the error says why; see
// [Transient]. If it is false, settle the entries one by one and [Archive.Reject]
// those that fail alone. If it is true, repeat after a pause: the outcome may be
// unknown.
func (a *Archive) Settle(
	ctx context.Context, id sale.VoucherID, entries []sale.Entry,
) (_ []sale.Order, err error) {
	defer sale.Wrap(&err, "settle %d orders of voucher %s", len(entries), id)
	if len(entries) == 0 {
		return nil, nil
	}
	if err := checkEntries(id, entries); err != nil {
		return nil, err
	}
	return inTx(ctx, a, func(tx *ent.Tx) ([]sale.Order, error) {
		b := batch{voucherID: id}
		if err := b.load(ctx, tx, a.engine.dialect, entries); err != nil {
			return nil, err
		}
		b.now = a.stamp() // under the lock, so that it is close to the commit
		orders := make([]sale.Order, len(entries))
		for i, entry := range entries {
			if orders[i], err = b.decide(entry); err != nil {
				return nil, err
			}
		}
		return orders, b.save(ctx, tx, a.engine.dialect)
	})
}

// batch is one voucher's entries while they are decided.
type batch struct {
	voucherID sale.VoucherID
	now       time.Time
	tally     *sale.Tally                 // nil when the archive does not know the voucher
	decided   map[sale.OrderID]sale.Order // orders with a row, and those of rows
	rows      []newRow                    // to be written
	units     int                         // of the accepted ones among rows
}

// newRow is a decided order that is not written yet.
type newRow struct {
	sale.Order
	entry   sale.Entry
	ordinal int // 0 when the order holds no units
}

// load locks the voucher and reads what is known about the entries. The lock
// comes first: what is read behind it includes all that earlier holders wrote.
func (b *batch) load(ctx context.Context, tx *ent.Tx, engine string, entries []sale.Entry) error {
	query := tx.Voucher.Query().Where(voucher.ID(b.voucherID))
	if engine == dialect.Postgres { // on SQLite the transaction has the only writer's lock
		query.ForUpdate()
	}
	v, err := query.Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return err
	}
	ids, buyers := make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		ids[i], buyers[i] = string(e.Order.ID), e.Order.BuyerID
	}
	if b.decided, err = ordersWithRow(ctx, tx, engine, ids); err != nil || v == nil {
		return err
	}
	held, err := holdsOf(ctx, tx, engine, b.voucherID, buyers)
	b.tally = &sale.Tally{Total: v.Total, Sold: v.Sold, Limit: v.PerBuyerLimit, Held: held}
	return err
}

// decide judges one entry, or repeats what was decided about its order before.
func (b *batch) decide(e sale.Entry) (sale.Order, error) {
	if known, ok := b.decided[e.Order.ID]; ok {
		if known.VoucherID != e.Order.VoucherID || known.BuyerID != e.Order.BuyerID {
			return sale.Order{}, entryFault(e, "id", "is the ID of another buyer's or voucher's order")
		}
		return known, nil
	}
	row := newRow{entry: e}
	ordinal, refused := b.admit(e.Order)
	if refused == "" {
		row.Order, row.ordinal = e.Order.Committed(b.now), ordinal
		b.units += e.Order.Quantity
	} else {
		row.Order = e.Order.Rejected(refused)
	}
	row.ClaimedAt, row.PayBefore = sale.Timestamp(row.ClaimedAt), timestampPtr(row.PayBefore)
	b.decided[row.ID] = row.Order
	b.rows = append(b.rows, row)
	return row.Order, nil
}

func (b *batch) admit(o sale.Order) (ordinal int, refused sale.RejectionCode) {
	switch {
	case b.tally == nil:
		return 0, sale.RejectedNotFound
	case o.Quantity > sale.MaxPerBuyerLimit: // no sale allows it, and a sum with it could overflow
		return 0, sale.RejectedInvalid
	}
	return b.tally.Admit(o)
}

// save writes the new rows and moves the sold counter.
func (b *batch) save(ctx context.Context, tx *ent.Tx, engine string) error {
	if err := insert(ctx, tx, engine, b.rows, b.now); err != nil {
		return err
	}
	if b.units == 0 {
		return nil
	}
	moved, err := tx.Voucher.Update().
		Where(voucher.ID(b.voucherID), func(s *entsql.Selector) {
			s.Where(entsql.P(func(p *entsql.Builder) {
				p.Ident(s.C(voucher.FieldSold)).WriteString(" + ").Arg(b.units).
					WriteString(" <= ").Ident(s.C(voucher.FieldTotal))
			}))
		}).
		AddSold(b.units).Save(ctx)
	if err == nil && moved != 1 {
		return fmt.Errorf("sold of voucher %s cannot be moved by %d: another writer ignores its lock", b.voucherID, b.units)
	}
	return err
}
