package graph

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Orders answers questions about orders. Every call names the buyer; another
// buyer's order is sale.ErrNotFound.
type Orders interface {
	Claim(ctx context.Context, c sale.Claim) (sale.ClaimResult, error)
	Order(ctx context.Context, buyerID string, id sale.OrderID) (sale.Order, error)
	OrdersOf(ctx context.Context, buyerID string, p sale.Page) (sale.Slice[sale.Order], error)
}

// Vouchers answers questions about vouchers and creates them.
type Vouchers interface {
	CreateVoucher(ctx context.Context, d sale.Draft) (sale.Voucher, error)
	// Voucher gives a voucher with stock and state, or sale.ErrNotFound.
	Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error)
	Vouchers(ctx context.Context, state *sale.State, p sale.Page) (sale.Slice[sale.Voucher], error)
}

// Facts gives what a field needs when it was not read with its object.
type Facts interface {
	// VoucherOf gives the voucher of an order; stock and state may be missing.
	VoucherOf(ctx context.Context, o sale.Order) (sale.Voucher, error)
	// LiveOf gives a voucher's stock and state.
	LiveOf(ctx context.Context, v sale.Voucher) (sale.Live, error)
	// Time is the clock that judges sale windows.
	Time(ctx context.Context) (time.Time, error)
}

// Watch opens streams of changes, which end with ctx.
type Watch interface {
	WatchOrder(ctx context.Context, buyerID string, id sale.OrderID, after int) (<-chan *sale.Order, error)
	WatchBuyer(ctx context.Context, buyerID string) (<-chan *sale.Order, error)
	WatchVoucher(ctx context.Context, id sale.VoucherID) (<-chan *sale.Voucher, error)
}

// Ports are all that the counter knows of what is behind it. All are required.
type Ports struct {
	Orders   Orders
	Vouchers Vouchers
	Facts    Facts
	Watch    Watch
}

// Resolver is the root of all resolvers.
type Resolver struct{ Ports Ports }

// NewSchema binds the resolvers, the directives and the weights of connections
// to the schema.
func NewSchema(p Ports) graphql.ExecutableSchema {
	c := Config{Resolvers: &Resolver{Ports: p}, Directives: DirectiveRoot{Authenticated: authenticated, HasRole: hasRole}}
	c.Complexity.Query.Vouchers = func(child int, first *int, _ *string, last *int, _ *string, _ *sale.State) int {
		return weightOfPage(child, first, last)
	}
	c.Complexity.Viewer.Orders = func(child int, first *int, _ *string, last *int, _ *string) int {
		return weightOfPage(child, first, last)
	}
	return NewExecutableSchema(c)
}

// weightOfPage counts a list as one object and a tenth of every further one: they
// are read together.
func weightOfPage(child int, first, last *int) int {
	items := max(value(first), value(last))
	if items == 0 {
		items = sale.DefaultPage
	}
	return 1 + child + child*items/10
}

func authenticated(ctx context.Context, _ any, next graphql.Resolver) (any, error) {
	if _, ok := sale.ViewerFrom(ctx); !ok {
		return nil, sale.ErrUnauthenticated
	}
	return next(ctx)
}

func hasRole(ctx context.Context, _ any, next graphql.Resolver, role sale.Role) (any, error) {
	role = sale.Role(strings.ToLower(string(role))) // ADMIN in the schema is admin in a token
	viewer, ok := sale.ViewerFrom(ctx)
	if !ok {
		return nil, sale.ErrUnauthenticated
	}
	if !viewer.Has(role) {
		return nil, &sale.Error{Code: sale.CodeForbidden, Message: "the token needs the role " + string(role)}
	}
	return next(ctx)
}

// viewer is the caller of a field that is marked @authenticated.
func viewer(ctx context.Context) sale.Viewer {
	v, _ := sale.ViewerFrom(ctx)
	return v
}

// orNull turns NOT_FOUND into null, for fields that promise null in place of an
// error.
func orNull[T any](found T, err error) (*T, error) {
	switch {
	case errors.Is(err, sale.ErrNotFound):
		return nil, nil //nolint:nilnil // null is the documented answer
	case err != nil:
		return nil, err
	}
	return &found, nil
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
