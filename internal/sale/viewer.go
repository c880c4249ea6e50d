package sale

import (
	"context"
	"slices"
)

// Role is what a token's bearer may do beyond a buyer's own business.
type Role string

// The roles. A token without a role is a buyer's.
const (
	RoleAdmin   Role = "admin"   // creates and steers sales
	RolePayment Role = "payment" // reports payments
)

// Viewer is the verified bearer of a request or a socket.
type Viewer struct {
	BuyerID string // the token's subject
	Roles   []Role
}

// Has tells whether the viewer has the role.
func (v Viewer) Has(role Role) bool { return slices.Contains(v.Roles, role) }

type viewerKey struct{}

// WithViewer puts the verified bearer into the context. Only the room that
// verified the token calls it.
func WithViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerFrom gives the verified bearer, and false when the request is anonymous.
func ViewerFrom(ctx context.Context) (Viewer, bool) {
	v, ok := ctx.Value(viewerKey{}).(Viewer)
	return v, ok
}
