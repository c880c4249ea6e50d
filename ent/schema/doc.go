// Package schema describes the archive's tables: vouchers, orders and dead
// letters. It is the source of the generated package ent; the SQL that creates
// the tables is written in internal/store/migrations, and a test proves that
// both say the same.
//
// Every index costs each insert of a sale's rush, so there is one only where a
// query on a hot or growing path needs it; its comment names that query. All
// times are UTC with milliseconds.
package schema
