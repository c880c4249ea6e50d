package store

import (
	"encoding/json"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/lib/pq"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// anyOf keeps the rows whose column is one of the values. All values travel in
// one argument, so that neither the statement's text nor the number of its
// parameters grows with them.
func anyOf[S ~string](column string, values []S) func(*entsql.Selector) {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return func(s *entsql.Selector) {
		if s.Dialect() == dialect.Postgres {
			s.Where(entsql.P(func(b *entsql.Builder) {
				b.WriteString(s.C(column)).WriteString(" = ANY(").Arg(pq.Array(texts)).WriteString(")")
			}))
			return
		}
		list, _ := json.Marshal(texts) // texts always have a JSON form
		s.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString(s.C(column)).WriteString(" IN (SELECT value FROM json_each(").Arg(string(list)).WriteString("))")
		}))
	}
}

// inWindow keeps the rows of a window of a list that is sorted by a column of
// time, then by ID, newest first, and puts them into reading order.
func inWindow(w sale.Window, column string) func(*entsql.Selector) {
	return func(s *entsql.Selector) {
		place := []string{s.C(column), s.C("id")}
		if w.After != nil {
			s.Where(entsql.CompositeLT(place, w.After.At, w.After.ID))
		}
		if w.Before != nil {
			s.Where(entsql.CompositeGT(place, w.Before.At, w.Before.ID))
		}
		if w.Backward {
			s.OrderBy(entsql.Asc(place[0]), entsql.Asc(place[1]))
		} else {
			s.OrderBy(entsql.Desc(place[0]), entsql.Desc(place[1]))
		}
	}
}

func mapSlice[From, To any](s sale.Slice[From], convert func(From) To) sale.Slice[To] {
	return sale.Slice[To]{
		Items: mapAll(s.Items, convert), Cursors: s.Cursors, HasNext: s.HasNext, HasPrevious: s.HasPrevious,
	}
}

func mapAll[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = convert(f)
	}
	return to
}

// timestampPtr is [sale.Timestamp] for a time that may be missing.
func timestampPtr(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := sale.Timestamp(*t)
	return &cut
}
