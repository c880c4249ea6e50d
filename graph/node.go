package graph

import (
	"context"

	"github.com/flashclaim/flashclaim/graph/model"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// node finds what an ID names. An order without a viewer, or another buyer's, is
// null like an ID that names nothing.
func (r *Resolver) node(ctx context.Context, id string) (model.Node, error) {
	if v, err := sale.ParseVoucherID(id); err == nil {
		return nodeOrNull(orNull(r.Ports.Vouchers.Voucher(ctx, v)))
	}
	o, err := sale.ParseOrderID(id)
	if err != nil || viewer(ctx).BuyerID == "" {
		return nil, nil
	}
	return nodeOrNull(orNull(r.Ports.Orders.Order(ctx, viewer(ctx).BuyerID, o)))
}

// nodeOrNull keeps a nil pointer from becoming a node that is not null.
func nodeOrNull[T any](found *T, err error) (model.Node, error) {
	if found == nil {
		return nil, err
	}
	return found, err
}
