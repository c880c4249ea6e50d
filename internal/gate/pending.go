package gate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Pending gives an order that is accepted and not yet acknowledged as written
// down, or [sale.ErrNotFound]. An order that is not found here is in the archive
// or nowhere: the acknowledgement comes after the commit.
func (g *Gate) Pending(ctx context.Context, id sale.OrderID) (sale.Order, error) {
	if !g.served(id.Partition()) {
		return sale.Order{}, sale.ErrNotFound
	}
	value, err := g.client.HGet(ctx, pendingKey(id.Partition()), string(id)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return sale.Order{}, sale.ErrNotFound
	case err != nil:
		return sale.Order{}, unavailable(err)
	}
	return decodePending(id, value)
}

// pendingOf gives all pending orders of a voucher. It walks the partition's
// whole record, which is as long as the backlog; only a load does it.
func (g *Gate) pendingOf(ctx context.Context, id sale.VoucherID) (map[sale.OrderID]sale.Order, error) {
	found := map[sale.OrderID]sale.Order{}
	scan := g.client.HScan(ctx, pendingKey(id.Partition()), 0, "", 1000).Iterator()
	for scan.Next(ctx) {
		order := sale.OrderID(scan.Val())
		if !scan.Next(ctx) {
			break
		}
		o, err := decodePending(order, scan.Val())
		if err != nil {
			// Only a foreign hand writes such a record. It must not close every sale
			// of the partition; should it have stood for units, the archive judges.
			g.Log.ErrorContext(ctx, "pending record cannot be read; a load goes on without it", "order_id", order, "err", err)
			continue
		}
		if o.VoucherID == id {
			found[order] = o
		}
	}
	if err := scan.Err(); err != nil {
		return nil, unavailable(err)
	}
	return found, nil
}

// decodePending reads "voucher|quantity|claimed_ms|pay_before_ms|request|buyer";
// the buyer comes last because only it may contain the separator.
func decodePending(id sale.OrderID, value string) (o sale.Order, err error) {
	defer sale.Wrap(&err, "read pending order %s", id)
	parts := strings.SplitN(value, "|", 6)
	if len(parts) != 6 {
		return sale.Order{}, fmt.Errorf("it has %d parts in place of 6", len(parts))
	}
	voucher, err := sale.ParseVoucherID(parts[0])
	if err != nil {
		return sale.Order{}, err
	}
	var n [3]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(parts[i+1], 10, 64); err != nil {
			return sale.Order{}, err
		}
	}
	payBefore := time.UnixMilli(n[2]).UTC()
	return sale.Order{
		ID: id, VoucherID: voucher, BuyerID: parts[5], RequestID: parts[4], Quantity: int(n[0]),
		Status: sale.StatusPending, Version: 1, ClaimedAt: time.UnixMilli(n[1]).UTC(), PayBefore: &payBefore,
	}, nil
}
