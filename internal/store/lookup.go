package store

import (
	"context"
	"errors"
	"slices"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/ent/order"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// The two look-ups of a batch walk an index once for each value, whatever the
// planner believes. In a rush its statistics are from before the rush: it takes
// a voucher for a small part of the table and reads all its orders for each
// batch, which is slower with every order sold. OFFSET 0 keeps it from turning
// the loop into such a plan.
const (
	knownIDsSQL = `
SELECT o.id FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT id FROM orders WHERE id = wanted.id OFFSET 0) AS o`

	holdsSQL = `
SELECT o.buyer_id, o.quantity, o.ordinal FROM unnest($2::text[]) AS wanted (buyer_id)
CROSS JOIN LATERAL (
	SELECT buyer_id, quantity, ordinal FROM orders
	WHERE voucher_id = $1 AND buyer_id = wanted.buyer_id AND ordinal IS NOT NULL OFFSET 0
) AS o`
)

// ordersWithRow reads those of the orders that have a row.
func ordersWithRow(
	ctx context.Context, tx *ent.Tx, engine string, ids []string,
) (map[sale.OrderID]sale.Order, error) {
	if engine == dialect.Postgres {
		// Redelivery is rare: normally this finds none, and that was all.
		var known []string
		err := scanAll(ctx, tx, knownIDsSQL, []any{pq.Array(ids)}, func(scan func(...any) error) error {
			known = append(known, "")
			return scan(&known[len(known)-1])
		})
		if err != nil || len(known) == 0 {
			return map[sale.OrderID]sale.Order{}, err
		}
		ids = known
	}
	rows, err := tx.Order.Query().Where(anyOf(order.FieldID, ids)).All(ctx)
	found := make(map[sale.OrderID]sale.Order, len(rows))
	for _, row := range rows {
		found[row.ID] = orderOf(row)
	}
	return found, err
}

// holdsOf reads what the buyers hold of a voucher.
func holdsOf(
	ctx context.Context, tx *ent.Tx, engine string, id sale.VoucherID, buyers []string,
) (map[string]sale.Hold, error) {
	held := make(map[string]sale.Hold, len(buyers))
	add := func(buyer string, quantity, ordinal int) {
		hold := held[buyer]
		hold.Units += quantity
		hold.Ordinals = append(hold.Ordinals, ordinal)
		held[buyer] = hold
	}
	if engine == dialect.Postgres {
		args := []any{string(id), pq.Array(distinct(buyers))}
		return held, scanAll(ctx, tx, holdsSQL, args, func(scan func(...any) error) error {
			var buyer string
			var quantity, ordinal int
			err := scan(&buyer, &quantity, &ordinal)
			add(buyer, quantity, ordinal)
			return err
		})
	}
	rows, err := tx.Order.Query().
		Where(order.VoucherID(id), anyOf(order.FieldBuyerID, buyers), order.OrdinalNotNil()).
		Select(order.FieldBuyerID, order.FieldQuantity, order.FieldOrdinal).All(ctx)
	for _, row := range rows {
		add(row.BuyerID, row.Quantity, *row.Ordinal)
	}
	return held, err
}

// scanAll hands every row of a query to take.
func scanAll(
	ctx context.Context, tx *ent.Tx, query string, args []any, take func(scan func(...any) error) error,
) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// distinct drops repeated texts: a loop over them must not find a row twice.
func distinct(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}
