package store

import (
	"errors"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/flashclaim/flashclaim/ent"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Transient tells whether time heals the fault, so that the same call should be
// repeated after a pause: the database is away or starting, a lock was not got
// in time, a context ended, the outcome of a commit is unknown, the tables are
// not migrated yet. It is false for nil and for what an entry or a caller
// caused: a fault of package sale, and data that a table refuses. When in doubt
// it is true, because a wrong true waits while a wrong false rejects buyers.
func Transient(err error) bool {
	var (
		fault *sale.Error
		input *sale.InputError
		pg    *pq.Error
		lite  *sqlite.Error
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &input):
		return false
	case errors.As(err, &fault):
		return fault.Code == sale.CodeUnavailable
	case errors.As(err, &pg):
		return !causedByData(pg.Code)
	case errors.As(err, &lite):
		switch lite.Code() & 0xff { // the rest tells details
		case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
			return false
		}
		return true
	}
	return !ent.IsValidationError(err) && !ent.IsNotSingular(err)
}

// causedByData tells whether the class of an SQLSTATE blames the data: 22 (data
// exception), 23 (integrity constraint) or 54 (a value too large for an index).
func causedByData(code pqerror.Code) bool {
	switch code.Class() {
	case "22", "23", "54":
		return true
	}
	return false
}

// unavailable gives a fault that time heals its code and sentence; others stay
// as they are.
func unavailable(err error) error {
	var fault *sale.Error
	if !Transient(err) || errors.As(err, &fault) {
		return err
	}
	return sale.Unavailable(err, "the database")
}

// duplicate tells whether a row with the same key is there already.
func duplicate(err error) bool {
	if pq.As(err, pqerror.UniqueViolation) != nil {
		return true
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) &&
		(lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// found turns a missing row into [sale.ErrNotFound].
func found(err error) error {
	if ent.IsNotFound(err) {
		return sale.ErrNotFound
	}
	return unavailable(err)
}
