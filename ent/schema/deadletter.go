package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// DeadLetter is an entry of an order stream that no retry can heal, put aside
// with its reason.
type DeadLetter struct{ ent.Schema }

// Fields of a dead letter.
func (DeadLetter) Fields() []ent.Field {
	return []ent.Field{
		field.Int("partition").Immutable().
			Comment("number of the order stream"),
		field.String("stream_id").Immutable().
			Comment("the stream's name of the entry"),
		field.JSON("fields", map[string]string{}).Immutable().
			Comment("the entry as read; what the database cannot store is replaced by U+FFFD"),
		field.String("reason").Immutable().
			Comment("why no retry can heal it, one sentence"),
		field.Time("created_at").Immutable().
			Comment("when it was put aside"),
	}
}

// Indexes of the dead letters.
func (DeadLetter) Indexes() []ent.Index {
	return []ent.Index{
		// An entry that is delivered again is not put aside twice.
		index.Fields("partition", "stream_id").Unique().
			StorageKey("dead_letters_entry"),
	}
}
