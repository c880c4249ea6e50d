package desk

import (
	"context"
	"sync"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// CreateVoucher checks the draft, commits the voucher and then opens it to
// claims, never the other way round: there must be no key for a voucher that
// does not exist. When the gate is away the voucher exists all the same and is
// loaded by its first claim.
func (d *Desk) CreateVoucher(ctx context.Context, draft sale.Draft) (sale.Voucher, error) {
	v, err := draft.Voucher(d.o.Publisher.NewVoucherID())
	if err != nil {
		return sale.Voucher{}, err
	}
	if err := d.o.Vouchers.CreateVoucher(ctx, v); err != nil {
		return sale.Voucher{}, err
	}
	if err := d.o.Publisher.Publish(ctx, v.ID); err != nil {
		d.o.Log.WarnContext(ctx, "voucher created; its first claim loads it", "voucher_id", v.ID, "err", err)
	}
	d.o.Log.InfoContext(ctx, "voucher created", "voucher_id", v.ID, "total", v.Total)
	return d.withLive(ctx, v), nil
}

// Voucher gives a voucher with stock and state. The error is [sale.ErrNotFound]
// or [sale.CodeUnavailable].
func (d *Desk) Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error) {
	id, err := sale.ParseVoucherID(string(id))
	if err != nil {
		return sale.Voucher{}, err
	}
	v, err := d.o.Vouchers.Voucher(ctx, id)
	if err != nil {
		return sale.Voucher{}, err
	}
	return d.withLive(ctx, v), nil
}

// Vouchers lists vouchers with stock and state, newest first.
func (d *Desk) Vouchers(ctx context.Context, state *sale.State, p sale.Page) (sale.Slice[sale.Voucher], error) {
	now, err := d.Time(ctx)
	if err != nil {
		return sale.Slice[sale.Voucher]{}, err
	}
	s, err := d.o.Vouchers.Vouchers(ctx, state, now, p)
	if err != nil {
		return s, err
	}
	for i, live := range d.live(ctx, s.Items) {
		s.Items[i].Live = &live
	}
	return s, nil
}

// LiveOf gives a voucher's stock and state as read with it, else as they are
// now.
func (d *Desk) LiveOf(ctx context.Context, v sale.Voucher) (sale.Live, error) {
	if v.Live != nil {
		return *v.Live, nil
	}
	return d.live(ctx, []sale.Voucher{v})[0], nil
}

// VoucherOf gives the voucher of an order, from a short memory: a claim that
// asks for its voucher's title must not become a query of the database.
func (d *Desk) VoucherOf(ctx context.Context, o sale.Order) (sale.Voucher, error) {
	if v, ok := d.vouchers.get(o.VoucherID, d.o.Now()); ok {
		return v, nil
	}
	v, err := d.o.Vouchers.Voucher(ctx, o.VoucherID)
	if err != nil {
		return sale.Voucher{}, err
	}
	d.vouchers.put(v, d.o.Now())
	return v, nil
}

func (d *Desk) withLive(ctx context.Context, v sale.Voucher) sale.Voucher {
	live := d.live(ctx, []sale.Voucher{v})[0]
	v.Live = &live
	return v
}

// live reads stock and state from the gate; while it is away, they are what the
// archive knows.
func (d *Desk) live(ctx context.Context, vouchers []sale.Voucher) []sale.Live {
	if len(vouchers) == 0 {
		return nil
	}
	live, err := d.o.Stock.Live(ctx, vouchers)
	if err == nil {
		return live
	}
	d.o.Log.WarnContext(ctx, "stock shown from the archive", "err", err)
	live = make([]sale.Live, len(vouchers))
	for i, v := range vouchers {
		live[i] = v.LiveAt(d.o.Now(), v.Total-v.Sold)
	}
	return live
}

// memory keeps vouchers for a moment. Title, values and limits do not change;
// what moves is not taken from here.
type memory struct {
	mu    sync.RWMutex
	items map[sale.VoucherID]remembered
}

type remembered struct {
	voucher sale.Voucher
	until   time.Time
}

const (
	rememberFor = 5 * time.Second
	rememberMax = 1000
)

func (m *memory) get(id sale.VoucherID, now time.Time) (sale.Voucher, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.items[id]
	return r.voucher, ok && now.Before(r.until)
}

func (m *memory) put(v sale.Voucher, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.items == nil || len(m.items) >= rememberMax {
		m.items = map[sale.VoucherID]remembered{}
	}
	m.items[v.ID] = remembered{voucher: v, until: now.Add(rememberFor)}
}
