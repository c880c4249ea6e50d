package worker

import (
	"context"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// settle decides all entries, voucher by voucher. When ctx ended while the
// database is away it stops: each further try could take as long as a time-out.
// Entries that it does not get to stay pending and are reclaimed.
func (w *Worker) settle(ctx context.Context, partition int, entries []sale.Entry) {
	vouchers, byVoucher := sorted(entries)
	for _, v := range vouchers {
		if all := w.settleVoucher(ctx, partition, v, byVoucher[v]); !all && ctx.Err() != nil {
			return
		}
	}
}

// sorted parts entries by voucher, in the order in which the vouchers appear.
// Entries that could not be decoded come under the empty voucher.
func sorted(entries []sale.Entry) (vouchers []sale.VoucherID, byVoucher map[sale.VoucherID][]sale.Entry) {
	byVoucher = map[sale.VoucherID][]sale.Entry{}
	for _, e := range entries {
		v := e.Order.VoucherID
		if e.Fault != nil {
			v = ""
		}
		if _, seen := byVoucher[v]; !seen {
			vouchers = append(vouchers, v)
		}
		byVoucher[v] = append(byVoucher[v], e)
	}
	return vouchers, byVoucher
}

// settleVoucher tells whether all the entries were decided.
func (w *Worker) settleVoucher(ctx context.Context, partition int, voucher sale.VoucherID, entries []sale.Entry) (all bool) {
	began := time.Now()
	// The order of commit, release and announcement is the promise; the package comment says what a
	// crash between any two leaves behind.
	settled, orders := w.commit(ctx, voucher, entries)
	if len(orders) > 0 {
		w.Observer.OrdersSettled(orders, time.Since(began))
	}
	w.release(ctx, orders)
	w.announceAndAcknowledge(ctx, partition, settled)
	return len(settled) == len(entries)
}

// commit has the archive decide the entries and returns what may be
// acknowledged: every entry, fewer when ctx ended before the archive answered or
// one can neither be written down nor put aside.
func (w *Worker) commit(ctx context.Context, voucher sale.VoucherID, entries []sale.Entry) (settled []sale.Settled, orders []sale.Order) {
	if voucher != "" {
		var err error
		orders, err = persist(ctx, w, func(ctx context.Context) ([]sale.Order, error) {
			return w.Archive.Settle(ctx, voucher, entries)
		})
		if err == nil {
			for i, e := range entries {
				settled = append(settled, sale.Settled{StreamID: e.StreamID, Order: &orders[i]})
			}
			return settled, orders
		}
		if w.Transient(err) {
			return nil, nil
		}
		w.Log.ErrorContext(ctx, "batch refused; settling its entries one by one", "voucher_id", voucher, "entries", len(entries), "err", err)
	}
	for _, e := range entries {
		s, err := w.commitOne(ctx, e)
		switch {
		case err != nil && ctx.Err() != nil:
			return settled, orders // the archive is away; this entry and the rest stay pending
		case err != nil:
			continue // it stays pending and is tried again when it is reclaimed
		}
		settled = append(settled, s)
		if s.Order != nil {
			orders = append(orders, *s.Order)
		}
	}
	return settled, orders
}

// commitOne settles an entry alone: as it is, else as rejected, else aside. With
// an error nothing is known to be written and the entry must not be acknowledged.
func (w *Worker) commitOne(ctx context.Context, e sale.Entry) (sale.Settled, error) {
	reason := e.Fault
	if reason == nil {
		orders, err := persist(ctx, w, func(ctx context.Context) ([]sale.Order, error) {
			return w.Archive.Settle(ctx, e.Order.VoucherID, []sale.Entry{e})
		})
		if err == nil {
			return sale.Settled{StreamID: e.StreamID, Order: &orders[0]}, nil
		}
		if w.Transient(err) {
			return sale.Settled{}, err
		}
		reason = err
	}
	w.Log.ErrorContext(ctx, "entry cannot be written down", "partition", e.Partition, "entry_id", e.StreamID,
		"order_id", e.Order.ID, "err", reason)
	return w.bury(ctx, e, reason)
}

// bury puts an entry aside with its reason and, when it names an order and a
// buyer, rejects that order so that the buyer is told.
func (w *Worker) bury(ctx context.Context, e sale.Entry, reason error) (sale.Settled, error) {
	letter := sale.DeadLetter{Partition: e.Partition, StreamID: e.StreamID, Fields: fieldsOf(e), Reason: reason.Error()}
	if _, err := persist(ctx, w, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, w.Archive.Bury(ctx, letter)
	}); err != nil {
		w.Log.ErrorContext(ctx, "entry cannot be put aside; it comes again", "partition", e.Partition, "entry_id", e.StreamID, "err", err)
		return sale.Settled{}, err
	}
	w.Observer.EntryBuried(letter)
	settled := sale.Settled{StreamID: e.StreamID}
	if e.Order.ID == "" || e.Order.VoucherID == "" || e.Order.BuyerID == "" {
		return settled, nil
	}
	order, err := persist(ctx, w, func(ctx context.Context) (sale.Order, error) {
		return w.Archive.Reject(ctx, e, sale.RejectedInvalid)
	})
	switch {
	case err == nil:
		settled.Order = &order
	case w.Transient(err):
		return sale.Settled{}, err
	default: // not even a rejection can be stored: nobody can be told
		w.Log.ErrorContext(ctx, "order of a buried entry cannot be rejected", "order_id", e.Order.ID, "err", err)
	}
	return settled, nil
}

func fieldsOf(e sale.Entry) map[string]string {
	if e.Fields != nil {
		return e.Fields
	}
	return map[string]string{"order": sale.EncodeEvent(e.Order)}
}

// persist repeats a write until it is done, refused, or ctx ends. What time
// heals is waited out and counts against nobody. The write itself does not end
// with ctx: a transaction cut in the middle of COMMIT has an unknown outcome.
func persist[T any](ctx context.Context, w *Worker, write func(context.Context) (T, error)) (T, error) {
	pause := backoff{least: 50 * time.Millisecond, most: 2 * time.Second}
	quiet := onceUntilWell{log: w.Log}
	for {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Attempt)
		result, err := write(attempt)
		cancel()
		if err == nil || !w.Transient(err) || ctx.Err() != nil {
			return result, err
		}
		quiet.report(ctx, "archive not reachable; the orders wait", 0, err)
		pause.wait(ctx)
	}
}

// release gives the units of rejected orders back at once. What does not
// succeed here is due in the archive and done by the relay.
func (w *Worker) release(ctx context.Context, orders []sale.Order) {
	var rejected []sale.Order
	for _, o := range orders {
		if o.Status == sale.StatusRejected {
			rejected = append(rejected, o)
		}
	}
	if len(rejected) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Attempt)
	defer cancel()
	if _, err := w.releaseAll(ctx, rejected); err != nil {
		w.Log.WarnContext(ctx, "release postponed", "orders", len(rejected), "err", err)
	}
}

func (w *Worker) announceAndAcknowledge(ctx context.Context, partition int, settled []sale.Settled) {
	if len(settled) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Attempt)
	defer cancel()
	n, err := w.Queue.Acknowledge(ctx, partition, settled)
	switch {
	case err != nil:
		w.Log.WarnContext(ctx, "not acknowledged; the entries come again", "partition", partition, "entries", len(settled), "err", err)
	case n < int64(len(settled)):
		// Normal when another worker reclaimed them meanwhile; in any other case
		// the entries and the acknowledgement do not name the same group.
		w.Observer.AcksMissing(partition, len(settled)-int(n))
		w.Log.WarnContext(ctx, "entries were acknowledged before", "partition", partition, "entries", len(settled), "acknowledged", n)
	}
}
