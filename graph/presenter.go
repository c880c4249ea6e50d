package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Presenter gives every error of a resolver its code in extensions.code. What is
// foreign is INTERNAL: its text goes to the log only, and the caller gets the
// request's ID to ask for it by. An argument that a scalar or an enum refused is
// BAD_USER_INPUT and named in extensions.fields, as a broken rule of the domain
// is. Errors of GraphQL itself (parsing, validation) pass with the code they
// have.
func Presenter(log *slog.Logger) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		shown := graphql.DefaultErrorPresenter(ctx, err)
		cause := errors.Unwrap(shown)
		if cause == nil {
			return graphqlFault(shown)
		}
		if field := refusedArgument(ctx, shown); field != "" {
			cause = &sale.InputError{Faults: []sale.FieldFault{{Field: field, Reason: "is refused: " + cause.Error()}}}
		}
		code := sale.CodeOf(cause)
		shown.Message = message(cause, code)
		extend(shown, "code", string(code))
		switch code {
		case sale.CodeInternal:
			log.ErrorContext(ctx, "request failed", "path", shown.Path.String(), "err", cause)
			extend(shown, "requestId", reqid.From(ctx))
		case sale.CodeUnavailable:
			log.WarnContext(ctx, "request not served", "path", shown.Path.String(), "err", cause)
			extend(shown, "requestId", reqid.From(ctx))
		}
		var input *sale.InputError
		if errors.As(cause, &input) {
			fields := make([]map[string]string, len(input.Faults))
			for i, f := range input.Faults {
				fields[i] = map[string]string{"field": f.Field, "reason": f.Reason}
			}
			extend(shown, "fields", fields)
		}
		return shown
	}
}

// refusedArgument names the argument, or the part of one, whose value the
// machinery refused before it called a resolver; "" for any other fault. Such a
// fault lies deeper than its field: the path goes on into the arguments.
func refusedArgument(ctx context.Context, e *gqlerror.Error) string {
	field := graphql.GetFieldContext(ctx)
	if field == nil || len(e.Path) <= len(field.Path()) {
		return ""
	}
	below := e.Path[len(field.Path()):]
	if len(below) > 1 && below[0] == ast.PathName("input") {
		below = below[1:] // fields of an input are named as the domain names them
	}
	return below.String()
}

// graphqlFault gives a code to errors that GraphQL's own machinery made without
// one: a value that a scalar refused.
func graphqlFault(e *gqlerror.Error) *gqlerror.Error {
	if _, has := e.Extensions["code"]; !has {
		extend(e, "code", string(sale.CodeBadUserInput))
	}
	return e
}

func message(cause error, code sale.Code) string {
	var known *sale.Error
	var input *sale.InputError
	switch {
	case errors.As(cause, &input):
		return input.Error()
	case errors.As(cause, &known):
		return known.Message
	case code == sale.CodeUnavailable:
		return "the request was not finished in time; repeat it"
	}
	return "internal error; the log has the cause under the request ID"
}

func extend(e *gqlerror.Error, key string, v any) {
	if e.Extensions == nil {
		e.Extensions = map[string]any{}
	}
	e.Extensions[key] = v
}

// Recover turns a panic in a resolver into INTERNAL and logs it with its stack.
func Recover(log *slog.Logger) graphql.RecoverFunc {
	return func(ctx context.Context, panicked any) error {
		log.ErrorContext(ctx, "resolver panicked", "err", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		return &sale.Error{Code: sale.CodeInternal, Message: "internal error; the log has the cause under the request ID"}
	}
}
