// Package websocket carries GraphQL over graphql-transport-ws sockets. It is
// the only home of gorilla/websocket: [Transport] is a gqlgen transport that
// upgrades the request and lets gqlgen's own websocket transport run behind
// its WebsocketImplementation interface, on a connection that this package
// wraps.
//
// # What it owns
//
//   - the handshake: origin, sub-protocol (graphql-transport-ws and nothing
//     else), request ID;
//   - the rules of the sub-protocol and their close codes, see the table at
//     [CloseBadMessage];
//   - the life of a socket: initialisation time-out, pings, token expiry,
//     write deadline, drain.
//
// # What it promises
//
// A socket's context carries the verified bearer ([sale.WithViewer]) and the
// request ID of its handshake, and ends when the socket does. A client that
// stops reading is cut off after one write deadline and holds up nobody else.
// A client that stops answering pings is cut off after two ping intervals. At
// the token's expiry the socket is closed. After a close frame unread input is
// drained for a moment, because closing TCP over unread input sends a reset
// that overtakes the close code.
//
// Stream IDs are the client's own business: inside, every stream has a fresh
// number, so that an ID may be used again at once and nothing that an old
// stream still has to say reaches the new one.
//
// # Memory
//
// Sockets are many and idle, so each costs as little as gqlgen's transport
// allows. The socket does not run on the goroutine of its HTTP request: that
// one ends after the upgrade and net/http frees its buffers, the request and
// its headers. Write buffers are shared, and there is one timer for
// initialisation, pings and expiry instead of a goroutine for each.
//
// The server room calls New once, adds the transport to gqlgen's handler, and
// calls Drain at the end.
package websocket
