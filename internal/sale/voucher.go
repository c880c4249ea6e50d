package sale

import "time"

// Voucher is what is sold. All of it but Live is fixed when it is created.
type Voucher struct {
	ID          VoucherID
	Title       string
	Subtitle    *string
	Rules       []string // one rule of use a line
	ShopID      *string  // the shop's own name for itself; opaque here
	PayValue    Money    // what the buyer pays
	ActualValue Money    // what the voucher is worth at the shop
	Total       int      // units on sale, 1 to MaxTotal
	// PerBuyerLimit is the number of units one buyer may hold at once, 1 to
	// MaxPerBuyerLimit.
	PerBuyerLimit int
	PaymentWindow time.Duration // from the claim to payBefore; whole seconds
	OpensAt       time.Time     // first instant of the sale
	ClosesAt      time.Time     // first instant after the sale
	Paused        bool          // an operator stopped the sale
	Epoch         int64         // generation of the voucher's keys in Redis, from 1
	Sold          int           // units of live orders, as the archive knows them
	Live          *Live         // set when stock and state were read together with the voucher
}

// PaymentWindowSeconds is the payment window in whole seconds.
func (v Voucher) PaymentWindowSeconds() int { return int(v.PaymentWindow / time.Second) }

// State is what a buyer can expect of a sale at one instant.
type State string

// The states of a sale. Paused wins over the window, the window over stock.
const (
	StateScheduled State = "SCHEDULED" // the window has not begun
	StateOpen      State = "OPEN"      // a claim can win
	StatePaused    State = "PAUSED"    // an operator stopped it
	StateSoldOut   State = "SOLD_OUT"  // no unit is free now
	StateClosed    State = "CLOSED"    // the window is over
)

// Live is a voucher's moving part at one instant.
type Live struct {
	Remaining int   // units free now, never negative
	State     State // judged by the gate's clock
}

// LiveAt judges the state of a sale at an instant. The window is half-open:
// opensAt belongs to it, closesAt does not.
func (v Voucher) LiveAt(now time.Time, remaining int) Live {
	live := Live{Remaining: max(remaining, 0)}
	switch {
	case v.Paused:
		live.State = StatePaused
	case now.Before(v.OpensAt):
		live.State = StateScheduled
	case !now.Before(v.ClosesAt):
		live.State = StateClosed
	case live.Remaining == 0:
		live.State = StateSoldOut
	default:
		live.State = StateOpen
	}
	return live
}

// Timestamp cuts a time to the precision that every store keeps: UTC,
// milliseconds.
func Timestamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
