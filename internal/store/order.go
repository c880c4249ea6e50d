package store

import (
	"context"
	"slices"
	"time"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/ent/order"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// idsPerQuery bounds one statement of a read by IDs.
const idsPerQuery = 5000

// changeOverlap is how far [Archive.ChangedSince] looks back behind the time it
// is given. A row is stamped before its commit, by the clock of the process that
// writes it; the overlap is the longest statement plus what clocks differ.
const changeOverlap = 15 * time.Second

// Order reads one order. The error is [sale.ErrNotFound], which a pending order
// gives too, or of code UNAVAILABLE.
func (a *Archive) Order(ctx context.Context, id sale.OrderID) (_ sale.Order, err error) {
	defer sale.Wrap(&err, "read order %s", id)
	row, err := a.client.Order.Get(ctx, id)
	if err != nil {
		return sale.Order{}, found(err)
	}
	return orderOf(row), nil
}

// Orders reads those of the orders that have a row with a version above
// newerThan (0: all), in no particular order. The error is of code UNAVAILABLE.
func (a *Archive) Orders(ctx context.Context, ids []sale.OrderID, newerThan int) (_ []sale.Order, err error) {
	defer sale.Wrap(&err, "read %d orders", len(ids))
	var all []sale.Order
	for part := range slices.Chunk(ids, idsPerQuery) {
		rows, err := a.client.Order.Query().
			Where(anyOf(order.FieldID, part), order.VersionGT(newerThan)).All(ctx)
		if err != nil {
			return nil, unavailable(err)
		}
		all = append(all, mapAll(rows, orderOf)...)
	}
	return all, nil
}

// OrdersOf lists a buyer's orders that have a row, newest claim first. The error
// is a [sale.InputError] about the page, or of code UNAVAILABLE.
func (a *Archive) OrdersOf(ctx context.Context, buyerID string, p sale.Page) (_ sale.Slice[sale.Order], err error) {
	defer sale.Wrap(&err, "list the orders of a buyer")
	w, err := p.Window()
	if err != nil {
		return sale.Slice[sale.Order]{}, err
	}
	rows, err := a.client.Order.Query().
		Where(order.BuyerID(buyerID), inWindow(w, order.FieldClaimedAt)).Limit(w.Limit + 1).All(ctx)
	if err != nil {
		return sale.Slice[sale.Order]{}, unavailable(err)
	}
	list := sale.NewSlice(w, rows, func(row *ent.Order) sale.Cursor {
		return sale.Cursor{At: row.ClaimedAt, ID: string(row.ID)}
	})
	return mapSlice(list, orderOf), nil
}

// UnfinishedOf reads a buyer's orders that can still change, newest claim first,
// at most limit. The error is of code UNAVAILABLE.
func (a *Archive) UnfinishedOf(ctx context.Context, buyerID string, limit int) (_ []sale.Order, err error) {
	defer sale.Wrap(&err, "read the unfinished orders of a buyer")
	rows, err := a.client.Order.Query().
		Where(order.BuyerID(buyerID), order.StatusIn(sale.StatusCommitted, sale.StatusPaid)).
		Order(ent.Desc(order.FieldClaimedAt, order.FieldID)).Limit(limit).All(ctx)
	return mapAll(rows, orderOf), unavailable(err)
}

// ChangedSince reads the buyers' orders that changed after the given time, in no
// particular order, and the time to ask with next. It looks back some seconds
// further, because a row becomes visible later than it was stamped: the same
// version may come several times. The error is of code UNAVAILABLE.
func (a *Archive) ChangedSince(
	ctx context.Context, buyerIDs []string, since time.Time,
) (_ []sale.Order, newest time.Time, err error) {
	defer sale.Wrap(&err, "read what changed for %d buyers", len(buyerIDs))
	newest = sale.Timestamp(since)
	from := newest.Add(-changeOverlap)
	var all []sale.Order
	for part := range slices.Chunk(buyerIDs, idsPerQuery) {
		rows, err := a.client.Order.Query().
			Where(anyOf(order.FieldBuyerID, part), order.UpdatedAtGT(from)).All(ctx)
		if err != nil {
			return nil, since, unavailable(err)
		}
		for _, row := range rows {
			if at := sale.Timestamp(row.UpdatedAt); at.After(newest) {
				newest = at
			}
		}
		all = append(all, mapAll(rows, orderOf)...)
	}
	return all, newest, nil
}

// LiveOrders reads all orders that hold units of a voucher, for loading it into
// the gate. The error is of code UNAVAILABLE.
func (a *Archive) LiveOrders(ctx context.Context, id sale.VoucherID) (_ []sale.Order, err error) {
	defer sale.Wrap(&err, "read the live orders of voucher %s", id)
	rows, err := a.client.Order.Query().Where(order.VoucherID(id), order.OrdinalNotNil()).All(ctx)
	return mapAll(rows, orderOf), unavailable(err)
}

// ReleasesDue reads orders whose units have still to be given back to the gate,
// oldest first, at most limit. The error is of code UNAVAILABLE.
func (a *Archive) ReleasesDue(ctx context.Context, limit int) (_ []sale.Order, err error) {
	defer sale.Wrap(&err, "read the releases that are due")
	rows, err := a.client.Order.Query().Where(order.ReleaseDue(true)).
		Order(ent.Asc(order.FieldUpdatedAt)).Limit(limit).All(ctx)
	return mapAll(rows, orderOf), unavailable(err)
}

// Released notes that the gate has the units of these orders back. Repeating it
// changes nothing. The error is of code UNAVAILABLE.
func (a *Archive) Released(ctx context.Context, ids []sale.OrderID) (err error) {
	defer sale.Wrap(&err, "note %d releases", len(ids))
	return write(ctx, a, func(tx *ent.Tx) error {
		for part := range slices.Chunk(ids, idsPerQuery) {
			err := tx.Order.Update().Where(anyOf(order.FieldID, part), order.ReleaseDue(true)).
				SetReleaseDue(false).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func orderOf(row *ent.Order) sale.Order {
	o := sale.Order{
		ID: row.ID, VoucherID: row.VoucherID, BuyerID: row.BuyerID, RequestID: row.RequestID,
		Quantity: row.Quantity, Status: row.Status, Version: row.Version,
		ClaimedAt: sale.Timestamp(row.ClaimedAt), CommittedAt: timestampPtr(row.CommittedAt),
		PayBefore: timestampPtr(row.PayBefore),
	}
	if row.RejectionCode != nil {
		o.Rejection = &sale.OrderRejection{Code: *row.RejectionCode}
	}
	return o
}
