// Package sale is the language of flashclaim: vouchers, claims, orders, their
// identifiers, states and codes. Every other room speaks it and none of them
// is known here; it compiles with the standard library alone.
//
// # What it owns
//
//   - identifiers ([VoucherID], [OrderID]) that carry their partition, so that
//     nobody has to look one up;
//   - the order's state machine ([OrderStatus]) and the archive's judgement of
//     an accepted claim ([Tally.Admit]);
//   - the reasons why a claim is refused ([ClaimProblem]), which are data, and
//     the error codes ([Code]), which are faults;
//   - exact money ([Money]) and the rules of a well-formed voucher ([Draft]);
//   - the wire form of an order event ([EncodeEvent], [DecodeEvent]).
//
// # What it promises
//
// Values are plain data and safe to copy. Nothing here does I/O, reads a clock
// or starts a goroutine. Times are UTC and cut to the millisecond
// ([Timestamp]), because Redis, SQLite, PostgreSQL and JavaScript all keep that
// much without loss.
package sale
