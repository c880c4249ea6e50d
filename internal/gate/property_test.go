package gate_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// sequences is how many random sequences each engine runs, unless the flag
// -rapid.checks asks for another number.
const sequences = 1000

// TestGateKeepsTheLaw drives random sequences of claims, repeats, releases,
// settlements, pauses, losses of keys and loads against a model, and checks
// after every step that stock + units held = total, that a refusal or a repeat
// leaves every key as it was, and that the answer is the model's.
func TestGateKeepsTheLaw(t *testing.T) {
	t.Parallel()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(fmt.Sprint(sequences)); err != nil {
			t.Fatal(err)
		}
	}
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		rapid.Check(t, func(rt *rapid.T) {
			newModel(rt, t, b).run(rt)
		})
	})
}

// holding is one order as the model knows it.
type holding struct {
	id       sale.OrderID
	buyer    string
	request  string
	units    int // 0 once given back
	streamID string
	archived bool
}

// model is the sale as it should be.
type model struct {
	*bundle
	v      sale.Voucher
	window string // open, scheduled or closed
	orders []*holding
	loaded bool
}

func newModel(rt *rapid.T, t *testing.T, b *bundle) *model {
	m := &model{bundle: b, window: rapid.SampledFrom([]string{"open", "open", "open", "open", "scheduled", "closed"}).Draw(rt, "window")}
	m.v = b.voucher(t, func(v *sale.Voucher) {
		v.Total = rapid.IntRange(1, 6).Draw(rt, "total")
		v.PerBuyerLimit = rapid.IntRange(1, 3).Draw(rt, "limit")
		switch m.window {
		case "scheduled":
			v.OpensAt = v.ClosesAt.Add(-time.Minute)
		case "closed":
			v.ClosesAt = v.OpensAt.Add(time.Minute)
		}
	})
	// Sequences share a server: what an earlier one left in the partition goes.
	if err := m.raw.Del(context.Background(), keysOf(m.v.ID)...).Err(); err != nil {
		rt.Fatal(err)
	}
	if err := m.Publish(context.Background(), m.v.ID); err != nil {
		rt.Fatal(err)
	}
	m.loaded = true
	return m
}

func (m *model) run(rt *rapid.T) {
	rt.Repeat(map[string]func(*rapid.T){
		"claim":       m.stepClaim,
		"claim again": m.stepClaim, // claims are the commonest step
		"release":     m.stepRelease,
		"settle":      m.stepSettle,
		"pause":       m.stepPause,
		"load":        m.stepLoad,
		"lose keys":   m.stepLoseKeys,
		"":            m.checkLaw,
	})
}

func (m *model) held(buyer string) (units int) {
	for _, h := range m.orders {
		if h.buyer == buyer {
			units += h.units
		}
	}
	return units
}

func (m *model) free() int {
	free := m.v.Total
	for _, h := range m.orders {
		free -= h.units
	}
	return free
}

// earlier finds the order of an equal request. One without a request ID is
// forgotten when it is given back.
func (m *model) earlier(buyer, request string) *holding {
	for _, h := range m.orders {
		if h.buyer == buyer && h.request == request && (request != "" || h.units > 0) {
			return h
		}
	}
	return nil
}

func (m *model) stepClaim(rt *rapid.T) {
	c := sale.Claim{
		VoucherID: m.v.ID,
		BuyerID:   rapid.SampledFrom([]string{"b|1", "b 2", "b3"}).Draw(rt, "buyer"),
		Quantity:  rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4, 0, -3}).Draw(rt, "quantity"),
		RequestID: rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(rt, "request"),
	}
	wasLoaded := m.loaded
	before := m.contents(rt, m.v.ID)
	got := m.claim(rt, c)
	after := m.contents(rt, m.v.ID)
	m.loaded = true // the claim loads a missing sale by itself, except one refused at the edge
	if c.Quantity < 1 {
		m.loaded = wasLoaded
	}

	want := m.expect(c)
	if code := codeOf(got); code != want {
		rt.Fatalf("claim %+v: got %s, want %s", c, code, want)
	}
	if want != "ACCEPTED" && wasLoaded && before != after {
		rt.Fatalf("claim %+v answered %s and changed keys:\nbefore\n%s\nafter\n%s", c, want, before, after)
	}
	switch want {
	case "ACCEPTED":
		m.orders = append(m.orders, &holding{id: got.Order.ID, buyer: c.BuyerID, request: c.RequestID, units: c.Quantity})
	case "REPLAYED":
		if e := m.earlier(c.BuyerID, c.RequestID); got.Order.ID != e.id {
			rt.Fatalf("claim %+v: repeat answered %s, the first answer was %s", c, got.Order.ID, e.id)
		}
	}
}

func codeOf(r sale.ClaimResult) string {
	switch {
	case r.Problem != nil:
		return string(r.Problem.Code())
	case r.Replayed:
		return "REPLAYED"
	}
	return "ACCEPTED"
}

// expect is the model's answer to a claim.
func (m *model) expect(c sale.Claim) string {
	e := m.earlier(c.BuyerID, c.RequestID)
	switch {
	case c.Quantity < 1:
		return "INVALID"
	case e != nil && e.units != 0 && e.units != c.Quantity:
		return "INVALID"
	case e != nil:
		return "REPLAYED"
	case m.v.Paused:
		return "PAUSED"
	case m.window == "scheduled":
		return "NOT_OPEN"
	case m.window == "closed":
		return "CLOSED"
	case m.held(c.BuyerID)+c.Quantity > m.v.PerBuyerLimit:
		return "LIMIT_REACHED"
	case m.free() < c.Quantity:
		return "SOLD_OUT"
	}
	return "ACCEPTED"
}

// stepRelease gives an order back, or asks for what must change nothing: a
// second release, or one by another buyer.
func (m *model) stepRelease(rt *rapid.T) {
	if len(m.orders) == 0 || !m.loaded {
		rt.Skip("nothing to release")
	}
	h := rapid.SampledFrom(m.orders).Draw(rt, "order")
	o := sale.Order{ID: h.id, VoucherID: m.v.ID, BuyerID: h.buyer}
	stranger := rapid.Bool().Draw(rt, "by a stranger")
	if stranger {
		o.BuyerID = "stranger"
	}
	before := m.contents(rt, m.v.ID)
	done, err := m.Release(context.Background(), o)
	if err != nil || !done {
		rt.Fatalf("release %s: done %v, err %v", h.id, done, err)
	}
	if (stranger || h.units == 0) && before != m.contents(rt, m.v.ID) {
		rt.Fatalf("a release that had nothing to give back changed keys")
	}
	if stranger || h.units == 0 {
		return
	}
	h.units = 0
	if !h.archived { // as the archive does it: the row says why, then the unit comes back
		h.archived = true
		m.settle(rt, h, func(o sale.Order) sale.Order { return o.Rejected(sale.RejectedInvalid) })
		return
	}
	o, _ = m.archived(h)
	o.Status, o.Version = sale.StatusCancelled, o.Version+1
	m.archive.put(o)
}

func (m *model) archived(h *holding) (sale.Order, bool) {
	found, _ := m.archive.Orders(context.Background(), []sale.OrderID{h.id}, 0)
	if len(found) == 0 {
		return sale.Order{}, false
	}
	return found[0], true
}

// stepSettle writes one waiting order down and acknowledges it.
func (m *model) stepSettle(rt *rapid.T) {
	for _, h := range m.orders {
		if !h.archived {
			h.archived = true
			m.settle(rt, h, func(o sale.Order) sale.Order { return o.Committed(time.Now()) })
			return
		}
	}
	rt.Skip("nothing waits")
}

func (m *model) settle(rt *rapid.T, h *holding, decide func(sale.Order) sale.Order) {
	ctx := context.Background()
	if h.streamID == "" {
		m.readAll(rt)
	}
	o, err := m.Pending(ctx, h.id)
	if err != nil {
		rt.Fatalf("order %s was accepted and is not pending: %v", h.id, err)
	}
	o = decide(o)
	m.archive.put(o)
	if n, err := m.Acknowledge(ctx, m.v.ID.Partition(), []sale.Settled{{StreamID: h.streamID, Order: &o}}); err != nil || n != 1 {
		rt.Fatalf("acknowledged %d entries of order %s, err %v", n, h.id, err)
	}
}

func (m *model) readAll(rt *rapid.T) {
	entries, err := m.Read(context.Background(), m.v.ID.Partition(), "c", 1000, time.Millisecond)
	if err != nil {
		rt.Fatal(err)
	}
	for _, e := range entries {
		if e.Fault != nil {
			rt.Fatalf("entry %s cannot be read: %v", e.StreamID, e.Fault)
		}
		for _, h := range m.orders {
			if h.id == e.Order.ID {
				h.streamID = e.StreamID
			}
		}
	}
}

func (m *model) stepPause(rt *rapid.T) {
	if !m.loaded {
		rt.Skip("not loaded")
	}
	m.v.Paused = !m.v.Paused
	m.archive.add(m.v)
	state := map[bool]string{true: "paused", false: "open"}[m.v.Paused]
	if err := m.raw.HSet(context.Background(), keysOf(m.v.ID)[0], "state", state).Err(); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) stepLoad(rt *rapid.T) {
	before := m.contents(rt, m.v.ID)
	if err := m.Load(context.Background(), m.v.ID); err != nil {
		rt.Fatal(err)
	}
	if m.loaded && before != m.contents(rt, m.v.ID) {
		rt.Fatal("a second load changed keys")
	}
	m.loaded = true
}

// stepLoseKeys deletes some of the voucher's keys. Requests that were given back
// are forgotten with them.
func (m *model) stepLoseKeys(rt *rapid.T) {
	keys := keysOf(m.v.ID)[:3]
	lost := rapid.IntRange(1, 7).Draw(rt, "which")
	for i, k := range keys {
		if lost&(1<<i) != 0 {
			if err := m.raw.Del(context.Background(), k).Err(); err != nil {
				rt.Fatal(err)
			}
		}
	}
	m.loaded = false
	m.orders = slices.DeleteFunc(m.orders, func(h *holding) bool { return h.units == 0 })
}

func (m *model) checkLaw(rt *rapid.T) {
	if !m.loaded {
		return
	}
	stock, held := m.counted(rt, m.v.ID)
	if stock+held != m.v.Total || stock != m.free() || stock < 0 {
		rt.Fatalf("stock %d + held %d, total %d; the model has %d free", stock, held, m.v.Total, m.free())
	}
}
