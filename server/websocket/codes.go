package websocket

import gorilla "github.com/gorilla/websocket"

// Protocol is the only sub-protocol that is spoken.
const Protocol = "graphql-transport-ws"

// The close codes that a client can meet. The first six are those of the
// sub-protocol.
const (
	CloseBadMessage      = 4400 // not a message of the sub-protocol
	CloseUnauthorized    = 4401 // subscribe before connection_ack
	CloseForbidden       = 4403 // the token is invalid, or has expired
	CloseBadProtocol     = 4406 // graphql-transport-ws was not offered in the handshake
	CloseInitTimeout     = 4408 // no connection_init in time
	CloseDuplicateStream = 4409 // the ID names a stream that still runs
	CloseInitAgain       = 4429 // a second connection_init

	CloseRestart  = gorilla.CloseServiceRestart    // 1012: the server drains; connect again
	CloseInternal = gorilla.CloseInternalServerErr // 1011: the log has the cause
	CloseNormal   = gorilla.CloseNormalClosure     // 1000
	CloseTooLarge = gorilla.CloseMessageTooBig     // 1009: a message above the read limit
)
