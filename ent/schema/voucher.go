package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Voucher is what is sold, one row each. The row is also the lock under which
// the orders of the voucher are settled.
type Voucher struct{ ent.Schema }

// Fields of a voucher. All but paused, epoch and sold are fixed at creation.
func (Voucher) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(sale.VoucherID("")).
			Comment("vch_, two digits of partition, 26 letters and digits; made by the server"),
		field.String("title").Immutable().
			Comment("name of the voucher, 1 to 200 characters"),
		field.String("subtitle").Optional().Nillable().Immutable().
			Comment("second line of the name"),
		field.Strings("rules").Immutable().
			Comment("rules of use, one text a rule, in order"),
		field.String("shop_id").Optional().Nillable().Immutable().
			Comment("the shop's own name for itself, opaque here"),
		field.Int64("pay_minor").Immutable().
			Comment("what the buyer pays for one unit, in the currency's minor unit"),
		field.String("pay_currency").GoType(sale.CurrencyCode("")).Immutable().
			Comment("ISO 4217 code of pay_minor"),
		field.Int64("actual_minor").Immutable().
			Comment("what one unit is worth at the shop, in the currency's minor unit"),
		field.String("actual_currency").GoType(sale.CurrencyCode("")).Immutable().
			Comment("ISO 4217 code of actual_minor"),
		field.Int("total").Immutable().
			Comment("units on sale"),
		field.Int("per_buyer_limit").Immutable().
			Comment("units one buyer may hold at once"),
		field.Int("payment_window_seconds").Immutable().
			Comment("seconds from the claim to pay_before"),
		field.Time("opens_at").Immutable().
			Comment("first instant of the sale"),
		field.Time("closes_at").Immutable().
			Comment("first instant after the sale"),
		field.Bool("paused").
			Comment("an operator stopped the sale"),
		field.Int64("epoch").
			Comment("generation of the voucher's keys in Redis, from 1"),
		field.Int("sold").
			Comment("units of live orders; moved in the transaction that changes them"),
		field.Time("created_at").Immutable().
			Comment("when the row was written; the list of vouchers is sorted by it"),
	}
}

// Annotations of the table: its last fence against overselling. There is no
// index beside the primary key: vouchers are few, and without an index on sold
// an update of it stays inside its page.
func (Voucher) Annotations() []schema.Annotation {
	return []schema.Annotation{
		entsql.Checks(map[string]string{
			"vouchers_sold_in_total": "sold BETWEEN 0 AND total",
		}),
	}
}
