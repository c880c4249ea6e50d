package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestTransient(t *testing.T) {
	t.Parallel()
	for code, want := range map[pqerror.Code]bool{
		"08006": true,  // connection failure
		"25006": true,  // read-only: a primary that became a standby
		"28P01": true,  // password refused: an operator's fault, no entry's
		"40001": true,  // serialization failure
		"40P01": true,  // deadlock
		"42P01": true,  // undefined table: not migrated
		"53300": true,  // too many connections
		"55P03": true,  // lock not available
		"57P01": true,  // admin shutdown
		"57014": true,  // statement timeout
		"22021": false, // NUL in a text
		"23505": false, // unique violation
		"23514": false, // broken check
		"54000": false, // too large for an index
	} {
		if got := Transient(fmt.Errorf("settle: %w", &pq.Error{Code: code})); got != want {
			t.Errorf("SQLSTATE %s: %t, want %t", code, got, want)
		}
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{driver.ErrBadConn, true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{context.Canceled, true},
		{context.DeadlineExceeded, true},
		{sale.Unavailable(&pq.Error{Code: "08006"}, "the database"), true},
		{sale.ErrNotFound, false},
		{&sale.InputError{}, false},
	} {
		if got := Transient(test.err); got != test.want {
			t.Errorf("%v: %t, want %t", test.err, got, test.want)
		}
	}
}
