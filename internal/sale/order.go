package sale

import (
	"slices"
	"time"
)

// OrderStatus is where an order stands. The machine, with the version that each
// change adds one to:
//
//	PENDING -> COMMITTED -> PAID -> REDEEMED
//	   |           |          '---> REFUNDED
//	   |           |---> CANCELLED
//	   |           '---> EXPIRED
//	   '-----> REJECTED
type OrderStatus string

// The states of an order.
const (
	StatusPending   OrderStatus = "PENDING"   // the gate accepted it; no row yet
	StatusCommitted OrderStatus = "COMMITTED" // the row is durable and payable
	StatusPaid      OrderStatus = "PAID"
	StatusRedeemed  OrderStatus = "REDEEMED"
	StatusCancelled OrderStatus = "CANCELLED"
	StatusExpired   OrderStatus = "EXPIRED"
	StatusRefunded  OrderStatus = "REFUNDED"
	StatusRejected  OrderStatus = "REJECTED" // the archive could not take it; the reason is told
)

var transitions = map[OrderStatus][]OrderStatus{
	StatusPending:   {StatusCommitted, StatusRejected},
	StatusCommitted: {StatusPaid, StatusCancelled, StatusExpired},
	StatusPaid:      {StatusRedeemed, StatusRefunded},
}

// LiveStatuses are those whose order holds units in the archive.
var LiveStatuses = []OrderStatus{StatusCommitted, StatusPaid, StatusRedeemed}

// CanBecome tells whether the machine has an arrow from s to next.
func (s OrderStatus) CanBecome(next OrderStatus) bool { return slices.Contains(transitions[s], next) }

// Final tells whether nothing can follow.
func (s OrderStatus) Final() bool { return len(transitions[s]) == 0 }

// Live tells whether an order in this state holds units in the archive.
func (s OrderStatus) Live() bool { return slices.Contains(LiveStatuses, s) }

// Order is the promise named by an order ID. It is a whole value: every event
// carries all of it, so a receiver keeps the one with the highest version and
// may drop repeats.
type Order struct {
	ID          OrderID
	VoucherID   VoucherID
	BuyerID     string
	RequestID   string // as the buyer sent it; empty when none was
	Quantity    int
	Status      OrderStatus
	Version     int // 1 is PENDING, one more at each change
	ClaimedAt   time.Time
	CommittedAt *time.Time // when the archive took it; nil before, and for a rejected order
	PayBefore   *time.Time // fixed at the claim
	Rejection   *OrderRejection
}

// OrderRejection says why the archive refused an order that the gate accepted.
type OrderRejection struct {
	Code RejectionCode
}

// RejectionCode is the machine-readable reason of a rejection.
type RejectionCode string

// The reasons of a rejection.
const (
	RejectedSoldOut      RejectionCode = "SOLD_OUT"      // the archive has no unit left
	RejectedLimitReached RejectionCode = "LIMIT_REACHED" // the buyer holds as many as allowed
	RejectedNotFound     RejectionCode = "NOT_FOUND"     // the archive does not know the voucher
	RejectedInvalid      RejectionCode = "INVALID"       // the entry could not be read or stored
)

var rejectionMessages = map[RejectionCode]string{
	RejectedSoldOut:      "No unit was left when the order was written down. Nothing will be charged.",
	RejectedLimitReached: "You already hold as many as one buyer may. Nothing will be charged.",
	RejectedNotFound:     "The voucher of this order does not exist. Nothing will be charged.",
	RejectedInvalid:      "The order could not be written down as it was recorded. Nothing will be charged.",
}

// Message is a sentence for the buyer.
func (r OrderRejection) Message() string { return rejectionMessages[r.Code] }

// Rejected is the order as the archive refused it. It panics when the machine
// has no such arrow, because a caller that asks has lost track of the order.
func (o Order) Rejected(code RejectionCode) Order {
	o = o.become(StatusRejected)
	o.CommittedAt = nil
	o.Rejection = &OrderRejection{Code: code}
	return o
}

// Committed is the order as the archive took it at the given time.
func (o Order) Committed(at time.Time) Order {
	o = o.become(StatusCommitted)
	at = Timestamp(at)
	o.CommittedAt = &at
	return o
}

func (o Order) become(next OrderStatus) Order {
	if !o.Status.CanBecome(next) {
		panic("sale: an order cannot go from " + string(o.Status) + " to " + string(next))
	}
	o.Status = next
	o.Version++
	return o
}
