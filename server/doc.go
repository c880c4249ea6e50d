// Package server is the porch: everything between a client's connection and
// the resolvers.
//
// # What it owns
//
// The HTTP server and its one table of routes, the order of the steps that a
// request goes through, identity ([Verifier]), limits, the GraphQL transports
// (POST, GET and SSE here, websockets in server/websocket), health, the
// embedded GraphiQL page (server/playground), and the drain. The schema, its
// error presenter and its recovery are handed in; this room knows no resolver.
//
// # What a request goes through
//
//	recover -> request ID -> cross-origin rules -> body limit -> identity -> gqlgen
//
// A request without a token is anonymous, and the resolvers decide what that
// may see; one with a token that is not valid is refused with 401 before
// anything else looks at it. Nothing is logged for a request that succeeds.
//
// # How it ends
//
//	not ready -> listener closed, requests in flight answer -> sockets 1012 in
//	jittered batches -> resolvers gone
//
// Each step is bounded, all of it by [Drain], and the order has a reason: a
// socket told to come back must not find this listener, and what the resolvers
// use may be closed only after they are gone. When [Server.Run] returns, none
// of them runs, or the log says how many were given up.
//
// Only internal/app calls this room.
package server
