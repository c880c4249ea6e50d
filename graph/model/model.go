// Package model holds the types of the schema that are no part of the domain:
// connections, payloads and inputs of the wire. Most are generated.
package model

// Node is anything with an ID of its own: a voucher or an order. The domain's
// types do not know GraphQL, so the interface asks nothing of them.
type Node any
