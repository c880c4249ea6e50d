package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// insert writes decided orders down, all as of now.
func insert(ctx context.Context, tx *ent.Tx, engine string, rows []newRow, now time.Time) error {
	switch {
	case len(rows) == 0:
		return nil
	case engine == dialect.Postgres:
		return insertArrays(ctx, tx, rows, now)
	}
	// The number of parameters of one statement is bounded.
	for part := range slices.Chunk(rows, 1000) {
		creates := mapAll(part, func(row newRow) *ent.OrderCreate { return create(tx, row, now) })
		if err := tx.Order.CreateBulk(creates...).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// create is one order in ent's own words.
func create(tx *ent.Tx, row newRow, now time.Time) *ent.OrderCreate {
	c := tx.Order.Create().
		SetID(row.ID).
		SetVoucherID(row.VoucherID).
		SetBuyerID(row.BuyerID).
		SetRequestID(row.RequestID).
		SetQuantity(row.Quantity).
		SetStatus(row.Status).
		SetVersion(row.Version).
		SetEpoch(row.entry.Epoch).
		SetStreamID(row.entry.StreamID).
		SetClaimedAt(row.ClaimedAt).
		SetNillableCommittedAt(row.CommittedAt).
		SetNillablePayBefore(row.PayBefore).
		SetReleaseDue(row.Rejection != nil).
		SetUpdatedAt(now)
	if row.ordinal > 0 {
		c.SetOrdinal(row.ordinal)
	}
	if row.Rejection != nil {
		c.SetRejectionCode(row.Rejection.Code)
	}
	return c
}

// insertArraysSQL takes one array for each column that differs from row to row:
// the statement's text is always the same, and the server reads eleven arrays
// instead of sixteen parameters for each order. Times are Unix milliseconds, 0 where a
// number and "" where a text is null.
const insertArraysSQL = `
INSERT INTO orders (
	id, voucher_id, buyer_id, request_id, quantity, ordinal, status, version, epoch, stream_id,
	claimed_at, committed_at, pay_before, rejection_code, release_due, updated_at)
SELECT
	o.id, $1, o.buyer_id, o.request_id, o.quantity, NULLIF(o.ordinal, 0),
	CASE WHEN o.rejection = '' THEN $2 ELSE $3 END, o.version, o.epoch, o.stream_id,
	to_timestamp(o.claimed_ms / 1000.0),
	CASE WHEN o.rejection = '' THEN $4::timestamptz END,
	to_timestamp(NULLIF(o.pay_before_ms, 0) / 1000.0),
	NULLIF(o.rejection, ''), o.rejection <> '', $4::timestamptz
FROM unnest(
	$5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[],
	$13::bigint[], $14::bigint[], $15::text[]
) AS o (id, buyer_id, request_id, quantity, ordinal, version, epoch, stream_id, claimed_ms, pay_before_ms, rejection)`

// insertArrays is CreateBulk in one statement of PostgreSQL. All rows are of one
// voucher, COMMITTED at now or REJECTED.
func insertArrays(ctx context.Context, tx *ent.Tx, rows []newRow, now time.Time) error {
	n := len(rows)
	texts := func(column func(newRow) string) any {
		values := make([]string, n)
		for i, row := range rows {
			values[i] = column(row)
		}
		return pq.Array(values)
	}
	numbers := func(column func(newRow) int64) any {
		values := make([]int64, n)
		for i, row := range rows {
			values[i] = column(row)
		}
		return pq.Array(values)
	}
	result, err := tx.ExecContext(ctx, insertArraysSQL,
		string(rows[0].VoucherID), string(sale.StatusCommitted), string(sale.StatusRejected), now,
		texts(func(r newRow) string { return string(r.ID) }),
		texts(func(r newRow) string { return r.BuyerID }),
		texts(func(r newRow) string { return r.RequestID }),
		numbers(func(r newRow) int64 { return int64(r.Quantity) }),
		numbers(func(r newRow) int64 { return int64(r.ordinal) }),
		numbers(func(r newRow) int64 { return int64(r.Version) }),
		numbers(func(r newRow) int64 { return r.entry.Epoch }),
		texts(func(r newRow) string { return r.entry.StreamID }),
		numbers(func(r newRow) int64 { return r.ClaimedAt.UnixMilli() }),
		numbers(func(r newRow) int64 { return millis(r.PayBefore) }),
		texts(func(r newRow) string { return rejection(r.Order) }),
	)
	if err != nil {
		return err
	}
	written, err := result.RowsAffected()
	if err == nil && written != int64(n) {
		return fmt.Errorf("%d orders were to be written, the database wrote %d", n, written)
	}
	return err
}

func millis(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func rejection(o sale.Order) string {
	if o.Rejection == nil {
		return ""
	}
	return string(o.Rejection.Code)
}
