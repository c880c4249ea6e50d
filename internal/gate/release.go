package gate

import (
	"context"
	"fmt"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Release gives the order's units and the buyer's allowance back. It may be
// repeated: only the first call for an order moves anything. It returns false
// when the sale is not loaded; then nothing is known to be given back and the
// call has to be repeated (a load in the meantime counts the order out).
func (g *Gate) Release(ctx context.Context, o sale.Order) (done bool, err error) {
	defer sale.Wrap(&err, "release order %s", o.ID)
	keys := []string{saleKey(o.VoucherID), stockKey(o.VoucherID), buyersKey(o.VoucherID)}
	r, err := replyOf(run(ctx, g.client, releaseScript, keys, o.BuyerID, string(o.ID)))
	if err != nil {
		return false, unavailable(err)
	}
	switch r.text(0) {
	case "RELEASED", "NOOP":
		return true, nil
	case "NOT_READY":
		return false, nil
	}
	return false, fmt.Errorf("the release script answered %q", r.text(0))
}
