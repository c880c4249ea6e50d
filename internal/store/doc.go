// Package store is the archive: the durable truth about vouchers and orders, in
// PostgreSQL or SQLite behind one type, [Archive]. It is the only caller of
// ent, database/sql and their drivers.
//
// # What it owns
//
//   - the tables (ent/schema) and the versioned SQL that creates them
//     (migrations/, one folder for each engine, embedded in the binary);
//   - the judgement of accepted claims: [Archive.Settle] decides a batch of one
//     voucher's entries in one transaction, under the lock of the voucher's row;
//   - the sorting of faults into those that time heals and those that an entry
//     caused: [Transient].
//
// # What it promises
//
//   - Live orders of a voucher never exceed its total, and no buyer exceeds the
//     limit, whatever is settled concurrently or twice. Four fences, from the
//     first to the last: the voucher's lock, [sale.Tally], the guarded move of
//     the sold counter, and the unique index and checks of the tables.
//   - Settling is idempotent by order ID: an entry that comes again gets the
//     order as it stands, and nothing changes.
//   - An error means that nothing was written, or that it is unknown: a lost
//     reply of COMMIT is a transient error, and the next Settle finds the rows.
//   - Every write runs in an explicit transaction. database/sql repeats a single
//     statement whose reply was lost, which would write it twice.
//   - A database that cannot be reached gives an error of code UNAVAILABLE and
//     rejects nobody. When in doubt a fault counts as one that time heals.
//
// Calls block until the database answered or ctx ended; none starts a goroutine
// that outlives it. A caller that must not be cut off in the middle of a
// transaction passes a context that its own shutdown does not cancel.
//
// The worker settles, rejects and buries; the resolvers read; the commands
// migrate. They see the archive through small interfaces of their own.
package store
