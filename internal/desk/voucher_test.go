package desk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func goodDraft(b *bundle) sale.Draft {
	money := sale.MoneyInput{Amount: "1.00", CurrencyCode: "CNY"}
	return sale.Draft{
		Title: "t", PayValue: money, ActualValue: money, Total: 5, PerBuyerLimit: 1, PaymentWindowSeconds: 60,
		OpensAt: b.now.Add(-time.Hour), ClosesAt: b.now.Add(time.Hour),
	}
}

// TestVoucherIsCommittedBeforeItIsLoaded guards C11: there is never a key for a
// voucher that does not exist.
func TestVoucherIsCommittedBeforeItIsLoaded(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.lives = []sale.Live{{Remaining: 5, State: sale.StateOpen}}
	v, err := b.CreateVoucher(t.Context(), goodDraft(b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create", "publish", "live"}, b.calls); diff != "" {
		t.Error(diff)
	}
	if v.Live == nil || *v.Live != b.lives[0] {
		t.Errorf("it comes with %+v", v.Live)
	}
}

func TestVoucherThatIsNotCommittedIsNotLoaded(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.rowsErr = errAway
	if _, err := b.CreateVoucher(t.Context(), goodDraft(b)); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"create"}, b.calls); diff != "" {
		t.Error(diff)
	}
}

func TestBadDraftReachesNobody(t *testing.T) {
	t.Parallel()
	b := newBundle()
	if _, err := b.CreateVoucher(t.Context(), sale.Draft{}); sale.CodeOf(err) != sale.CodeBadUserInput || b.calls != nil {
		t.Errorf("%v after %v", err, b.calls)
	}
}

// TestVoucherExistsWithoutTheGate: its first claim loads it.
func TestVoucherExistsWithoutTheGate(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.gateErr = errAway
	v, err := b.CreateVoucher(t.Context(), goodDraft(b))
	if err != nil {
		t.Fatal(err)
	}
	if v.Live == nil || *v.Live != (sale.Live{Remaining: 5, State: sale.StateOpen}) {
		t.Errorf("the archive's own view is %+v", v.Live)
	}
}

// TestStockFallsBackToTheArchive: while Redis is away, a voucher is shown with
// total less sold, judged by our own clock.
func TestStockFallsBackToTheArchive(t *testing.T) {
	t.Parallel()
	b := newBundle()
	v := sale.Voucher{
		ID: sale.NewVoucherID(1, b.now), Total: 10, Sold: 4, OpensAt: b.now.Add(-time.Hour), ClosesAt: b.now.Add(time.Hour),
	}
	b.vouchers[v.ID] = v
	for name, test := range map[string]struct {
		gateErr error
		at      time.Duration
		want    sale.Live
	}{
		"Redis there":             {nil, 0, sale.Live{Remaining: 3, State: sale.StateOpen}},
		"Redis away":              {errAway, 0, sale.Live{Remaining: 6, State: sale.StateOpen}},
		"Redis away, sale closed": {errAway, time.Hour, sale.Live{Remaining: 6, State: sale.StateClosed}},
	} {
		b.gateErr, b.lives = test.gateErr, []sale.Live{{Remaining: 3, State: sale.StateOpen}}
		began := b.now
		b.now = began.Add(test.at)
		got, err := b.Voucher(t.Context(), v.ID)
		b.now = began
		if err != nil || got.Live == nil || *got.Live != test.want {
			t.Errorf("%s: got %+v, %v", name, got.Live, err)
		}
	}
}

func TestUnknownVoucher(t *testing.T) {
	t.Parallel()
	b := newBundle()
	if _, err := b.Voucher(t.Context(), sale.NewVoucherID(1, b.now)); !errors.Is(err, sale.ErrNotFound) {
		t.Error(err)
	}
}

func TestVouchersComeWithTheirStock(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.listed.Items = []sale.Voucher{{Title: "a", Total: 1}, {Title: "b", Total: 2}}
	b.lives = []sale.Live{{Remaining: 1}, {Remaining: 2}}
	s, err := b.Vouchers(t.Context(), nil, sale.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Items {
		if v.Live == nil || *v.Live != b.lives[i] {
			t.Errorf("%s comes with %+v", v.Title, v.Live)
		}
	}
	if b.listedAt != b.serverAt {
		t.Errorf("states were judged at %s, the gate's clock says %s", b.listedAt, b.serverAt)
	}
	b.gateErr = errAway
	if _, err := b.Vouchers(t.Context(), nil, sale.Page{}); err != nil || b.listedAt != b.now {
		t.Errorf("while Redis is away: %v, judged at %s", err, b.listedAt)
	}
	b.rowsErr = errAway
	if _, err := b.Vouchers(t.Context(), nil, sale.Page{}); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Errorf("while the archive is away: %v", err)
	}
}

func TestLiveIsReadOnceAVoucher(t *testing.T) {
	t.Parallel()
	b := newBundle()
	known := sale.Live{Remaining: 7}
	if got, err := b.LiveOf(t.Context(), sale.Voucher{Live: &known}); err != nil || got != known || b.calls != nil {
		t.Errorf("got %+v, %v after %v", got, err, b.calls)
	}
	b.lives = []sale.Live{{Remaining: 2}}
	if got, err := b.LiveOf(t.Context(), sale.Voucher{}); err != nil || got != b.lives[0] {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestVoucherOfAnOrderIsRemembered: a rush that asks each order for its voucher's
// title costs one query in five seconds, not one a claim.
func TestVoucherOfAnOrderIsRemembered(t *testing.T) {
	t.Parallel()
	b := newBundle()
	o := b.order()
	b.vouchers[o.VoucherID] = sale.Voucher{ID: o.VoucherID, Title: "t"}
	ask := func(after time.Duration) error {
		b.now = b.now.Add(after)
		v, err := b.VoucherOf(t.Context(), o)
		if err == nil && v.Title != "t" {
			t.Errorf("got %+v", v)
		}
		return err
	}
	if err := errors.Join(ask(0), ask(0), ask(5*time.Second-1)); err != nil || len(b.calls) != 1 {
		t.Errorf("%v after %v", err, b.calls)
	}
	if err := ask(1); err != nil || len(b.calls) != 2 {
		t.Errorf("after five seconds: %v after %v", err, b.calls)
	}
	b.rowsErr = errAway
	if err := ask(0); err != nil {
		t.Errorf("remembered, and yet %v", err)
	}
	if err := ask(time.Minute); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Errorf("forgotten, and the archive is away: %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBundle()
	first := b.order()
	for i := range 1001 {
		o := b.order()
		if i == 0 {
			o = first
		}
		b.vouchers[o.VoucherID] = sale.Voucher{ID: o.VoucherID}
		if _, err := b.VoucherOf(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	b.calls = nil
	if _, err := b.VoucherOf(t.Context(), first); err != nil || len(b.calls) != 1 {
		t.Errorf("the oldest of 1001 vouchers is still remembered: %v, %v", b.calls, err)
	}
}
