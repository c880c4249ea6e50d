package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// loadWithin bounds one load. Whoever asked first may go away; others wait for
// the same load, so it does not end with the asker.
const loadWithin = 10 * time.Second

// loadChunk is how many buyers one script call writes: a few milliseconds of
// Redis's time.
const loadChunk = 1000

// Load makes sure that the voucher's sale is in Redis. It may be repeated at any
// time: a loaded sale is left as it is. Concurrent calls in one process share
// one load; between processes the first one loads and the others wait for it.
//
// Stock is total minus what the archive's live orders hold minus what accepted
// but unwritten claims hold, so a load after a loss of keys neither oversells
// nor forgets a buyer. Errors: [sale.ErrNotFound] when the archive has no such
// voucher, [sale.CodeUnavailable] when Redis or the archive is away.
func (g *Gate) Load(ctx context.Context, id sale.VoucherID) error {
	if !g.served(id.Partition()) || g.absent.has(id) {
		return sale.ErrNotFound
	}
	done := g.loads.DoChan(string(id), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		return nil, g.load(ctx, id)
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-done:
		return r.Err
	}
}

var errLoadElsewhere = errors.New("another process loads the sale")

func (g *Gate) load(ctx context.Context, id sale.VoucherID) (err error) {
	defer sale.Wrap(&err, "load voucher %s", id)
	// The archive is asked first: a voucher that does not exist leaves no key.
	v, err := g.Source.Voucher(ctx, id)
	if err != nil {
		if sale.CodeOf(err) == sale.CodeNotFound {
			g.absent.add(id)
		}
		return err
	}
	if err := g.ensureGroup(ctx, id.Partition()); err != nil {
		return unavailable(err)
	}
	for {
		err := g.loadOnce(ctx, v)
		if !errors.Is(err, errLoadElsewhere) {
			return err
		}
		// Its end is PRESENT at the next look, or a lease that is over.
		select {
		case <-ctx.Done():
			return unavailable(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (g *Gate) loadOnce(ctx context.Context, v sale.Voucher) error {
	token := rand.Text()
	keys := []string{saleKey(v.ID), stockKey(v.ID), buyersKey(v.ID)}
	begun, err := run(ctx, g.client, loadBeginScript, keys, token, loadWithin.Milliseconds()).Text()
	switch {
	case err != nil:
		g.abandon(ctx, token, keys) // it may have begun all the same
		return unavailable(err)
	case begun == "PRESENT":
		return nil
	case begun == "LOADING":
		return errLoadElsewhere
	}
	if err := g.fill(ctx, v, token, keys); err != nil {
		g.abandon(ctx, token, keys)
		return err
	}
	return nil
}

// abandon gives up a load that failed, so that the next one need not wait for the
// end of the lease.
func (g *Gate) abandon(ctx context.Context, token string, keys []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimWithin)
	defer cancel()
	if err := run(ctx, g.client, loadAbandonScript, keys, token).Err(); err != nil {
		g.Log.WarnContext(ctx, "failed load not given up; its lease ends by itself", "sale", keys[0], "err", err)
	}
}

// fill writes stock and buyers of a load that has begun, and opens the sale.
func (g *Gate) fill(ctx context.Context, v sale.Voucher, token string, keys []string) error {
	orders, err := g.holding(ctx, v.ID)
	if err != nil {
		return err
	}
	held := 0
	records := map[string][]string{}
	for _, o := range orders {
		held += o.Quantity
		records[o.BuyerID] = append(records[o.BuyerID], record(o))
	}
	if err := g.writeRecords(ctx, v.ID, token, records); err != nil {
		return err
	}
	state := "open"
	if v.Paused {
		state = "paused"
	}
	finished, err := run(ctx, g.client, loadFinishScript, keys, token, v.Epoch, state, v.OpensAt.UnixMilli(),
		v.ClosesAt.UnixMilli(), v.PerBuyerLimit, v.PaymentWindow.Milliseconds(), v.Total, max(v.Total-held, 0)).Text()
	if err != nil {
		return unavailable(err)
	}
	if finished == "LOST" {
		return errLoadElsewhere
	}
	g.Log.InfoContext(ctx, "sale loaded", "voucher_id", v.ID, "stock", max(v.Total-held, 0), "held", held, "epoch", v.Epoch)
	return nil
}

// holding gives every order that holds units: live in the archive, or accepted
// and not written down yet. While the sale is being loaded nothing new can be
// accepted. The pending ones are read first: an order that is written down in
// between is then seen twice, never not at all.
func (g *Gate) holding(ctx context.Context, id sale.VoucherID) ([]sale.Order, error) {
	pending, err := g.pendingOf(ctx, id)
	if err != nil {
		return nil, err
	}
	orders, err := g.Source.LiveOrders(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		delete(pending, o.ID)
	}
	ids := make([]sale.OrderID, 0, len(pending))
	for id := range pending {
		ids = append(ids, id)
	}
	decided, err := g.Source.Orders(ctx, ids, 0)
	if err != nil {
		return nil, err
	}
	for _, o := range decided {
		if o.Status.Live() { // written down since LiveOrders was read
			orders = append(orders, o)
		}
		delete(pending, o.ID)
	}
	for _, o := range pending {
		orders = append(orders, o)
	}
	return orders, nil
}

func (g *Gate) writeRecords(ctx context.Context, id sale.VoucherID, token string, records map[string][]string) error {
	keys := []string{saleKey(id), buyersKey(id)}
	args := []any{token}
	flush := func() error {
		written, err := run(ctx, g.client, loadRecordsScript, keys, args...).Text()
		args = args[:1]
		switch {
		case err != nil:
			return unavailable(err)
		case written == "LOST":
			return errLoadElsewhere
		}
		return nil
	}
	for buyer, list := range records {
		args = append(args, buyer, strings.Join(list, " "))
		if len(args) > 2*loadChunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(args) == 1 {
		return nil
	}
	return flush()
}

// record is how the claim script writes an order into its buyer's field.
func record(o sale.Order) string {
	return fmt.Sprintf("%s|%d|%s", o.ID, o.Quantity, o.RequestID)
}

// absentVouchers remembers for a moment which vouchers the archive does not
// know, so that made-up IDs do not reach the database one by one.
type absentVouchers struct {
	mu    sync.Mutex
	until map[sale.VoucherID]time.Time
}

const (
	absentFor = time.Second
	absentMax = 10_000
)

func (a *absentVouchers) has(id sale.VoucherID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[id]
	if ok && time.Now().After(until) {
		delete(a.until, id)
		return false
	}
	return ok
}

func (a *absentVouchers) add(id sale.VoucherID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil || len(a.until) >= absentMax {
		a.until = map[sale.VoucherID]time.Time{}
	}
	a.until[id] = time.Now().Add(absentFor)
}

// forget is called when a voucher has just been created.
func (a *absentVouchers) forget(id sale.VoucherID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.until, id)
}

// Publish makes a voucher claimable that the archive has just committed. It may
// be repeated.
func (g *Gate) Publish(ctx context.Context, id sale.VoucherID) error {
	g.absent.forget(id)
	return g.Load(ctx, id)
}
