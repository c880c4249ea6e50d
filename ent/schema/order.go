package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Order is one decided order, one row each. A pending order has no row.
//
// There is no foreign key to vouchers: an order that was promised for a voucher
// which the archive does not know is kept as REJECTED, so that its buyer can
// read why. A foreign key would also lock the voucher's row once per insert.
type Order struct{ ent.Schema }

// Fields of an order.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(sale.OrderID("")).
			Comment("ord_, two digits of partition, 26 letters and digits; made by the server before the claim"),
		field.String("voucher_id").GoType(sale.VoucherID("")).Immutable().
			Comment("the voucher; may be unknown when the order is REJECTED"),
		field.String("buyer_id").Immutable().
			Comment("subject of the buyer's token"),
		field.String("request_id").Immutable().
			Comment("as the buyer sent it; empty when none was"),
		field.Int("quantity").Immutable().
			Comment("units"),
		field.Int("ordinal").Optional().Nillable().
			Comment("number of the buyer's live order on the voucher, from 1; null when the order holds no units"),
		field.String("status").GoType(sale.OrderStatus("")).
			Comment("COMMITTED, PAID, REDEEMED, CANCELLED, EXPIRED, REFUNDED or REJECTED"),
		field.Int("version").
			Comment("1 was PENDING, one more at each change"),
		field.Int64("epoch").Immutable().
			Comment("generation of the voucher's keys that accepted the claim"),
		field.String("stream_id").Immutable().
			Comment("the order stream's name of the entry, for tracing"),
		field.Time("claimed_at").Immutable().
			Comment("when the gate accepted the claim, by Redis's clock"),
		field.Time("committed_at").Optional().Nillable().Immutable().
			Comment("when the archive took the order; null for a rejected one"),
		field.Time("pay_before").Optional().Nillable().Immutable().
			Comment("end of the payment window, fixed at the claim"),
		field.String("rejection_code").GoType(sale.RejectionCode("")).Optional().Nillable().Immutable().
			Comment("why the order is REJECTED; null otherwise"),
		field.Bool("release_due").
			Comment("the order's units have still to be given back to the stock in Redis"),
		field.Time("updated_at").
			Comment("when the row changed last, by the writer's clock, stamped before its commit"),
	}
}

// Indexes of the orders. Both partial ones hold no row that nobody asks for, and
// no status, so that a payment rewrites no index at all.
func (Order) Indexes() []ent.Index {
	return []ent.Index{
		// The last fence of the per-buyer limit. It also serves what a settled
		// batch asks first (what do these buyers hold of this voucher) and the
		// loading of a voucher's live orders into the gate.
		index.Fields("voucher_id", "buyer_id", "ordinal").Unique().
			StorageKey("orders_live").
			Annotations(entsql.IndexWhere("ordinal IS NOT NULL")),
		// A buyer's own orders, newest first: the viewer's connection, the
		// unfinished ones, and the healing query by buyer.
		index.Fields("buyer_id", "claimed_at").
			StorageKey("orders_of_buyer"),
		// Units that have still to be given back, oldest first; empty on a quiet
		// day.
		index.Fields("updated_at").
			StorageKey("orders_release_due").
			Annotations(entsql.IndexWhere("release_due")),
	}
}

// Annotations of the table: an order has an ordinal exactly while it holds
// units, so that the partial unique index covers all live orders and no other.
func (Order) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Checks(map[string]string{
			"orders_live_has_ordinal": "status IN ('COMMITTED', 'PAID', 'REDEEMED') = (ordinal IS NOT NULL)",
		}),
	}
}
