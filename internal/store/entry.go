package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// checkEntries finds the first entry that could not be written: it would abort
// the transaction of all others on one engine and pass on another. The error is
// a [sale.InputError].
func checkEntries(id sale.VoucherID, entries []sale.Entry) error {
	for _, e := range entries {
		o := e.Order
		switch _, err := sale.ParseOrderID(string(o.ID)); {
		case e.Fault != nil:
			return entryFault(e, "entry", "cannot be read: "+e.Fault.Error())
		case err != nil:
			return entryFault(e, "id", "is not the form of an order's ID")
		case o.VoucherID != id || o.VoucherID != storable(o.VoucherID):
			return entryFault(e, "voucherId", "is not the voucher that is settled")
		case sale.BuyerIDFault(o.BuyerID) != "":
			return entryFault(e, "buyerId", sale.BuyerIDFault(o.BuyerID))
		case o.RequestID != storable(o.RequestID), len(o.RequestID) > sale.MaxRequestID:
			return entryFault(e, "requestId", "must be short, valid UTF-8 without NUL")
		case e.StreamID != storable(e.StreamID):
			return entryFault(e, "streamId", "must be valid UTF-8 without NUL")
		case o.Status != sale.StatusPending, o.Version != 1:
			return entryFault(e, "status", "must be that of a pending order")
		case !plausible(o.ClaimedAt), o.PayBefore != nil && !plausible(*o.PayBefore):
			return entryFault(e, "claimedAt or payBefore", "is outside the years 2000 to 9999")
		}
	}
	return nil
}

func entryFault(e sale.Entry, field, reason string) error {
	return &sale.InputError{Faults: []sale.FieldFault{{
		Field: "order " + string(storable(e.Order.ID)) + " of entry " + storable(e.StreamID) + ": " + field, Reason: reason,
	}}}
}

// Reject writes an entry down as a REJECTED order with its units due for
// release. It is for an entry that [Archive.Settle] refuses even alone: text
// that cannot be stored is replaced by U+FFFD, an impossible time of the claim by
// now. An order that has a
// row already is returned as it stands, and nothing changes. The error is a
// [sale.InputError] when the entry names no order, or of code UNAVAILABLE.
func (a *Archive) Reject(ctx context.Context, e sale.Entry, code sale.RejectionCode) (_ sale.Order, err error) {
	defer sale.Wrap(&err, "reject order %s", storable(e.Order.ID))
	if _, err := sale.ParseOrderID(string(e.Order.ID)); err != nil {
		return sale.Order{}, entryFault(e, "id", "is not the form of an order's ID")
	}
	now := a.stamp()
	o := e.Order
	o.VoucherID, o.BuyerID, o.RequestID = storable(o.VoucherID), storable(o.BuyerID), storable(o.RequestID)
	e.StreamID = storable(e.StreamID)
	if o.ClaimedAt = sale.Timestamp(o.ClaimedAt); !plausible(o.ClaimedAt) {
		o.ClaimedAt = now
	}
	if o.PayBefore = timestampPtr(o.PayBefore); o.PayBefore != nil && !plausible(*o.PayBefore) {
		o.PayBefore = nil
	}
	o.Status, o.Version = sale.StatusPending, 1 // whatever the entry said
	row := newRow{Order: o.Rejected(code), entry: e}
	rejected, err := inTx(ctx, a, func(tx *ent.Tx) (sale.Order, error) {
		switch known, err := tx.Order.Get(ctx, o.ID); {
		case err == nil:
			return orderOf(known), nil
		case !ent.IsNotFound(err):
			return sale.Order{}, err
		}
		return row.Order, create(tx, row, now).Exec(ctx)
	})
	if duplicate(err) {
		// Somebody wrote the row after it was looked for.
		return a.Order(ctx, o.ID)
	}
	return rejected, err
}

// Bury puts an entry aside that no retry can heal. Repeating it changes nothing.
// Text that cannot be stored is replaced by U+FFFD. The error is of code
// UNAVAILABLE.
func (a *Archive) Bury(ctx context.Context, d sale.DeadLetter) (err error) {
	defer sale.Wrap(&err, "bury entry %s of partition %d", storable(d.StreamID), d.Partition)
	fields := make(map[string]string, len(d.Fields))
	for name, value := range d.Fields {
		fields[storable(name)] = storable(value)
	}
	err = write(ctx, a, func(tx *ent.Tx) error {
		return tx.DeadLetter.Create().
			SetPartition(d.Partition).
			SetStreamID(storable(d.StreamID)).
			SetFields(fields).
			SetReason(storable(d.Reason)).
			SetCreatedAt(a.stamp()).
			Exec(ctx)
	})
	if duplicate(err) {
		return nil
	}
	return err
}

// storable is the text with everything replaced that PostgreSQL cannot keep in a
// text: NUL and what is not UTF-8.
func storable[S ~string](s S) S {
	if utf8.ValidString(string(s)) && strings.IndexByte(string(s), 0) < 0 {
		return s
	}
	return S(strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD"))
}

// plausible tells whether every engine and client can be trusted with the time.
func plausible(t time.Time) bool { y := t.UTC().Year(); return 2000 <= y && y <= 9999 }
