package sale

import (
	"fmt"
	"time"
)

// Claim is a buyer's attempt to take units of a voucher.
type Claim struct {
	VoucherID VoucherID
	BuyerID   string // subject of a verified token
	Quantity  int    // 1 to the voucher's limit
	// RequestID makes a repeat recognisable: the same buyer, voucher and request
	// get the same order. Without one, all of a buyer's claims without a request
	// ID on that voucher are the same request.
	RequestID string
}

// MaxRequestID is the length of the longest request ID, in bytes.
const MaxRequestID = 64

// MaxBuyerID is the length of the longest buyer's name, in bytes.
const MaxBuyerID = 128

// Fault checks what can be checked without the voucher. It returns nil when the
// claim may go to the gate.
func (c Claim) Fault() ClaimProblem {
	switch {
	case c.Quantity < 1:
		return InvalidClaim{Reason: fmt.Sprintf("quantity must be 1 or more, not %d", c.Quantity)}
	case c.Quantity > MaxPerBuyerLimit:
		return InvalidClaim{Reason: fmt.Sprintf("quantity must be at most %d, not %d", MaxPerBuyerLimit, c.Quantity)}
	case !RequestIDWellFormed(c.RequestID):
		return InvalidClaim{Reason: fmt.Sprintf(
			"requestId must have at most %d letters, digits, '-', '_', '.' or ':'", MaxRequestID)}
	}
	return nil
}

// RequestIDWellFormed tells whether a request ID has at most MaxRequestID letters,
// digits, hyphens, underscores, points or colons. It may be empty.
func RequestIDWellFormed(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c), 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return len(s) <= MaxRequestID
}

// BuyerIDFault says what is wrong with a buyer's name, or nothing. It must be 1
// to MaxBuyerID bytes of UTF-8 without control characters, because it travels
// through Redis into the archive.
func BuyerIDFault(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > MaxBuyerID:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(s), MaxBuyerID)
	case !Printable(s):
		return "must be valid UTF-8 without control characters"
	}
	return ""
}

// ClaimResult is the gate's answer: an order, a problem, or both (an order the
// buyer already has).
type ClaimResult struct {
	Order    *Order
	Replayed bool         // the order was accepted for an earlier, equal request
	Problem  ClaimProblem // nil means accepted
}

// ClaimProblemCode is the machine-readable reason of a refusal.
type ClaimProblemCode string

// The reasons of a refusal.
const (
	ProblemSoldOut      ClaimProblemCode = "SOLD_OUT"
	ProblemNotOpen      ClaimProblemCode = "NOT_OPEN"
	ProblemClosed       ClaimProblemCode = "CLOSED"
	ProblemPaused       ClaimProblemCode = "PAUSED"
	ProblemLimitReached ClaimProblemCode = "LIMIT_REACHED"
	ProblemNotReady     ClaimProblemCode = "NOT_READY"
	ProblemBusy         ClaimProblemCode = "BUSY"
	ProblemRateLimited  ClaimProblemCode = "RATE_LIMITED"
	ProblemNotFound     ClaimProblemCode = "NOT_FOUND"
	ProblemInvalid      ClaimProblemCode = "INVALID"
)

// ClaimProblem is an expected refusal of a claim: data, not an error. Retryable
// means that the very same request may be accepted later.
type ClaimProblem interface {
	Code() ClaimProblemCode
	Message() string
	Retryable() bool
}

// SoldOut: fewer units are free than were asked for.
type SoldOut struct {
	Remaining int // units free when it was judged
}

// Code is SOLD_OUT.
func (SoldOut) Code() ClaimProblemCode { return ProblemSoldOut }

// Message tells how many are left.
func (p SoldOut) Message() string {
	if p.Remaining > 0 {
		return "Fewer units are left than you asked for."
	}
	return "Sold out."
}

// Retryable: units may come back when orders are cancelled or expire.
func (SoldOut) Retryable() bool { return true }

// SaleNotOpen: the sale has not begun.
type SaleNotOpen struct {
	OpensAt    time.Time
	ServerTime time.Time // the clock that judged; clients count down from it
}

// Code is NOT_OPEN.
func (SaleNotOpen) Code() ClaimProblemCode { return ProblemNotOpen }

// Message says that it is too early.
func (SaleNotOpen) Message() string { return "The sale has not begun." }

// Retryable: from opensAt on.
func (SaleNotOpen) Retryable() bool { return true }

// SaleClosed: the sale is over.
type SaleClosed struct{ ClosesAt time.Time }

// Code is CLOSED.
func (SaleClosed) Code() ClaimProblemCode { return ProblemClosed }

// Message says that it is too late.
func (SaleClosed) Message() string { return "The sale is over." }

// Retryable: never.
func (SaleClosed) Retryable() bool { return false }

// SalePaused: an operator stopped the sale for now.
type SalePaused struct{}

// Code is PAUSED.
func (SalePaused) Code() ClaimProblemCode { return ProblemPaused }

// Message says that it is stopped.
func (SalePaused) Message() string { return "The sale is paused." }

// Retryable: when it is resumed.
func (SalePaused) Retryable() bool { return true }

// LimitReached: the buyer would hold more units than one buyer may.
type LimitReached struct {
	Order         *Order // an order the buyer already has; nil when the quantity alone is too much
	PerBuyerLimit int
}

// Code is LIMIT_REACHED.
func (LimitReached) Code() ClaimProblemCode { return ProblemLimitReached }

// Message tells the limit.
func (p LimitReached) Message() string {
	return fmt.Sprintf("One buyer may hold at most %d of this voucher.", p.PerBuyerLimit)
}

// Retryable: no; the buyer would have to give units back first.
func (LimitReached) Retryable() bool { return false }

// NotReady: the sale is not loaded into the gate.
type NotReady struct{}

// Code is NOT_READY.
func (NotReady) Code() ClaimProblemCode { return ProblemNotReady }

// Message asks for a repeat.
func (NotReady) Message() string { return "The sale is being made ready. Repeat the same request." }

// Retryable: in a moment.
func (NotReady) Retryable() bool { return true }

// Busy: more accepted claims wait to be written down than the bound allows.
type Busy struct{ RetryAfterMs int }

// Code is BUSY.
func (Busy) Code() ClaimProblemCode { return ProblemBusy }

// Message asks for patience.
func (Busy) Message() string { return "Too many orders are waiting. Repeat the same request shortly." }

// Retryable: after retryAfterMs.
func (Busy) Retryable() bool { return true }

// RateLimited: this buyer asks too often.
type RateLimited struct{ RetryAfterMs int }

// Code is RATE_LIMITED.
func (RateLimited) Code() ClaimProblemCode { return ProblemRateLimited }

// Message asks for patience.
func (RateLimited) Message() string { return "Too many requests. Wait before the next one." }

// Retryable: after retryAfterMs.
func (RateLimited) Retryable() bool { return true }

// VoucherNotFound: no voucher has this ID.
type VoucherNotFound struct{}

// Code is NOT_FOUND.
func (VoucherNotFound) Code() ClaimProblemCode { return ProblemNotFound }

// Message says so.
func (VoucherNotFound) Message() string { return "No voucher has this ID." }

// Retryable: never.
func (VoucherNotFound) Retryable() bool { return false }

// InvalidClaim: the request breaks a rule whatever the stock.
type InvalidClaim struct{ Reason string }

// Code is INVALID.
func (InvalidClaim) Code() ClaimProblemCode { return ProblemInvalid }

// Message names the rule.
func (p InvalidClaim) Message() string { return "The claim is invalid: " + p.Reason + "." }

// Retryable: not as it is.
func (InvalidClaim) Retryable() bool { return false }
