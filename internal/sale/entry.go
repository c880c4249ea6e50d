package sale

// Entry is one accepted claim on its partition's order stream, on its way from
// the gate to the archive.
type Entry struct {
	Partition int
	StreamID  string            // the stream's own name for the entry
	Epoch     int64             // generation of the voucher's keys that accepted the claim
	Order     Order             // PENDING, as promised to the buyer
	Fields    map[string]string // as read, kept for the dead letter; nil when the entry was decoded
	// Fault says why the entry could not be decoded; nil when it could. Order
	// then holds whatever could still be read and may name nobody.
	Fault error
}

// Settled is a decided entry: the archive took it, refused it, or it was put
// aside.
type Settled struct {
	StreamID string
	Order    *Order // as it stands now; nil when the entry named no order that anybody could be told of
}

// DeadLetter is an entry that no retry can heal, put aside with its reason.
type DeadLetter struct {
	Partition int
	StreamID  string
	Fields    map[string]string
	Reason    string
}

// Tally is what the archive knows of one voucher while it judges a batch of
// entries under the voucher's lock.
type Tally struct {
	Total int              // units on sale
	Sold  int              // units of live orders so far
	Limit int              // units one buyer may hold
	Held  map[string]Hold  // by buyer: what the buyer holds so far
	Known map[OrderID]bool // orders that already have a row
}

// Hold is what one buyer holds of one voucher.
type Hold struct {
	Units    int
	Ordinals []int // taken ordinals of live orders, each from 1 to the limit
}

// Admit judges one entry and, when it admits it, counts it. It returns the
// reason of a refusal, or the ordinal of the buyer's order: the smallest free
// number from 1 to the limit, which a unique index guards a second time.
func (t *Tally) Admit(o Order) (ordinal int, refused RejectionCode) {
	hold := t.Held[o.BuyerID]
	switch {
	case o.Quantity < 1:
		return 0, RejectedInvalid
	case o.Quantity > t.Limit-hold.Units: // a difference cannot overflow, a sum could
		return 0, RejectedLimitReached
	case o.Quantity > t.Total-t.Sold:
		return 0, RejectedSoldOut
	}
	ordinal = hold.freeOrdinal()
	hold.Units += o.Quantity
	hold.Ordinals = append(hold.Ordinals, ordinal)
	t.Held[o.BuyerID] = hold
	t.Sold += o.Quantity
	return ordinal, ""
}

func (h Hold) freeOrdinal() int {
	for n := 1; ; n++ {
		taken := false
		for _, o := range h.Ordinals {
			taken = taken || o == n
		}
		if !taken {
			return n
		}
	}
}
