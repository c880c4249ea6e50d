package sale_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	input := &sale.InputError{Faults: []sale.FieldFault{{Field: "total", Reason: "is missing"}}}
	for name, test := range map[string]struct {
		err  error
		want sale.Code
	}{
		"nothing":                   {nil, ""},
		"not found":                 {sale.ErrNotFound, sale.CodeNotFound},
		"unauthenticated":           {sale.ErrUnauthenticated, sale.CodeUnauthenticated},
		"wrapped":                   {fmt.Errorf("load: %w", sale.ErrNotFound), sale.CodeNotFound},
		"joined":                    {errors.Join(io.EOF, sale.ErrNotFound), sale.CodeNotFound},
		"unavailable":               {sale.Unavailable(io.EOF, "the gate"), sale.CodeUnavailable},
		"unavailable hides a cause": {sale.Unavailable(sale.ErrNotFound, "the gate"), sale.CodeUnavailable},
		"input":                     {input, sale.CodeBadUserInput},
		"input, wrapped":            {fmt.Errorf("create: %w", input), sale.CodeBadUserInput},
		"cancelled":                 {context.Canceled, sale.CodeUnavailable},
		"timed out":                 {fmt.Errorf("read: %w", context.DeadlineExceeded), sale.CodeUnavailable},
		"foreign":                   {io.ErrUnexpectedEOF, sale.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sale.CodeOf(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestErrorShowsItsSentenceAndCause(t *testing.T) {
	t.Parallel()
	err := sale.Unavailable(io.EOF, "the archive")
	if got := err.Error(); got != "the archive cannot be reached right now; repeat the same request: EOF" {
		t.Error(got)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
	if got := sale.ErrNotFound.Error(); got != "not found" {
		t.Error(got)
	}
}

func TestErrorsAreEqualByCode(t *testing.T) {
	t.Parallel()
	other := &sale.Error{Code: sale.CodeNotFound, Message: "no such order", Cause: io.EOF}
	if !errors.Is(other, sale.ErrNotFound) {
		t.Error("two errors of one code are different")
	}
	if errors.Is(other, sale.ErrUnauthenticated) || errors.Is(io.EOF, sale.ErrNotFound) || errors.Is(other, io.ErrUnexpectedEOF) {
		t.Error("errors of different codes are equal")
	}
}

func TestInputErrorNamesEveryFault(t *testing.T) {
	t.Parallel()
	err := &sale.InputError{Faults: []sale.FieldFault{{Field: "title", Reason: "is empty"}, {Field: "rules[2]", Reason: "is too long"}}}
	if got := err.Error(); got != "title is empty; rules[2] is too long" {
		t.Error(got)
	}
}

func TestWrapAddsFacts(t *testing.T) {
	t.Parallel()
	do := func(cause error) (err error) {
		defer sale.Wrap(&err, "settle voucher %s", "vch_1")
		return cause
	}
	if err := do(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	err := do(sale.ErrNotFound)
	if !errors.Is(err, sale.ErrNotFound) || !strings.HasPrefix(err.Error(), "settle voucher vch_1: ") {
		t.Errorf("got %v", err)
	}
}
