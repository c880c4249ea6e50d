package sale

import (
	"encoding/json"
	"fmt"
	"time"
)

// event is the wire form of an order on the event stream. It is read by other
// programs too (analytics, mail), so its names stay.
type event struct {
	ID          OrderID       `json:"id"`
	VoucherID   VoucherID     `json:"voucherId"`
	BuyerID     string        `json:"buyerId"`
	RequestID   string        `json:"requestId,omitempty"`
	Quantity    int           `json:"quantity"`
	Status      OrderStatus   `json:"status"`
	Version     int           `json:"version"`
	ClaimedMs   int64         `json:"claimedMs"`
	CommittedMs int64         `json:"committedMs,omitempty"`
	PayBeforeMs int64         `json:"payBeforeMs,omitempty"`
	Rejection   RejectionCode `json:"rejection,omitempty"`
}

// EncodeEvent writes a whole order as JSON; times are Unix milliseconds.
func EncodeEvent(o Order) string {
	e := event{
		ID: o.ID, VoucherID: o.VoucherID, BuyerID: o.BuyerID, RequestID: o.RequestID, Quantity: o.Quantity,
		Status: o.Status, Version: o.Version, ClaimedMs: o.ClaimedAt.UnixMilli(),
		CommittedMs: millis(o.CommittedAt), PayBeforeMs: millis(o.PayBefore),
	}
	if o.Rejection != nil {
		e.Rejection = o.Rejection.Code
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic("sale: an order cannot be encoded: " + err.Error()) // strings and numbers only
	}
	return string(b)
}

// DecodeEvent reads what [EncodeEvent] wrote. Unknown members are ignored, so
// that an older reader survives a newer writer.
func DecodeEvent(s string) (Order, error) {
	var e event
	if err := json.Unmarshal([]byte(s), &e); err != nil {
		return Order{}, fmt.Errorf("decode order event: %w", err)
	}
	if _, err := ParseOrderID(string(e.ID)); err != nil || e.Version < 1 {
		return Order{}, fmt.Errorf("decode order event: it names no order and version")
	}
	o := Order{
		ID: e.ID, VoucherID: e.VoucherID, BuyerID: e.BuyerID, RequestID: e.RequestID, Quantity: e.Quantity,
		Status: e.Status, Version: e.Version, ClaimedAt: time.UnixMilli(e.ClaimedMs).UTC(),
		CommittedAt: fromMillis(e.CommittedMs), PayBefore: fromMillis(e.PayBeforeMs),
	}
	if e.Rejection != "" {
		o.Rejection = &OrderRejection{Code: e.Rejection}
	}
	return o, nil
}

func millis(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}
