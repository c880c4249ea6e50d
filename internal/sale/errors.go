package sale

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code is the machine-readable kind of a fault. Clients find it in
// extensions.code of a GraphQL error.
type Code string

// The codes of all faults. An expected refusal of a claim is not a fault: see
// [ClaimProblem].
const (
	CodeUnauthenticated Code = "UNAUTHENTICATED" // no valid token came with the request
	CodeForbidden       Code = "FORBIDDEN"       // the token lacks the role
	CodeNotFound        Code = "NOT_FOUND"       // nothing of that name, or it is not the caller's
	CodeBadUserInput    Code = "BAD_USER_INPUT"  // an argument breaks a rule; the message names it
	CodeTooComplex      Code = "TOO_COMPLEX"     // the document asks for more than the limit
	CodeRateLimited     Code = "RATE_LIMITED"    // too many requests; wait and repeat
	CodeUnavailable     Code = "UNAVAILABLE"     // Redis or the database is away; repeat with the same request ID
	CodeInternal        Code = "INTERNAL"        // anything unforeseen; the log has the cause
)

// Error is a fault with a code and a sentence that may be shown to the caller.
// The cause, if any, is for the log only.
type Error struct {
	Code    Code
	Message string
	Cause   error
}

// Error gives the sentence and, behind it, the cause.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes two errors equal to errors.Is when their codes are: the sentence is
// for people.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// ErrNotFound says that nothing of that name exists for this caller. Somebody
// else's order gives the same error, so that nobody learns what exists.
var ErrNotFound = &Error{Code: CodeNotFound, Message: "not found"}

// ErrUnauthenticated says that the request carries no valid token.
var ErrUnauthenticated = &Error{
	Code:    CodeUnauthenticated,
	Message: "a valid token is needed: send it as Authorization: Bearer <token>, or as authorization in connection_init",
}

// Unavailable marks a cause that time heals: the caller may repeat the same
// request.
func Unavailable(cause error, what string) error {
	return &Error{Code: CodeUnavailable, Message: what + " cannot be reached right now; repeat the same request", Cause: cause}
}

// CodeOf gives the code of the first [Error] in err's chain, and "" for nil. A cancelled or
// timed-out context is [CodeUnavailable]; anything foreign is [CodeInternal].
func CodeOf(err error) Code {
	var e *Error
	var in *InputError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	case errors.As(err, &in):
		return CodeBadUserInput
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return CodeUnavailable
	}
	return CodeInternal
}

// FieldFault is one broken rule of an input: which field, and what is wrong.
type FieldFault struct {
	Field  string // a path as in the input, such as "payValue.amount" or "rules[2]"
	Reason string // completes the sentence "<field> ..."
}

// InputError lists all faults of an input at once, so that nobody has to mend
// them one by one. Its code is [CodeBadUserInput].
type InputError struct{ Faults []FieldFault }

// Error names every field and its fault in one line.
func (e *InputError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Field + " " + f.Reason
	}
	return strings.Join(parts, "; ")
}

// Wrap adds facts to *err when it is not nil. It is meant as a function's first
// statement, with the function's result:
//
//	defer sale.Wrap(&err, "settle voucher %s", id)
func Wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
