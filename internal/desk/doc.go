// Package desk answers questions that need both the gate and the archive: where
// an order stands, what a voucher has left, what becomes of a claim.
//
// It owns one rule, the order of looking: an order is looked for among the
// pending ones first and in the archive second. An entry is acknowledged after
// its row is committed, so an order that is not pending any more is readable in
// the archive; the other way round it could be missed in both.
//
// While Redis is away, committed orders are still answered from the archive;
// while the archive is away, claims and pending orders still are.
//
// graph and notify call it, through ports of their own; it calls the gate and the
// archive through the ports here.
package desk
