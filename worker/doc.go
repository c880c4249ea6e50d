// Package worker is the clerk: it reads accepted claims from the partitions'
// order streams, has the archive write them down, announces what was decided
// and acknowledges the entries.
//
// # What it promises
//
//   - An entry is acknowledged only after the archive committed its order (or
//     put the entry aside), so an order whose ID was given out is never lost by a
//     crash here.
//   - Redelivery is normal: settling an entry twice changes nothing.
//   - One bad entry never stops the others; a fault that time heals rejects
//     nobody, it is waited out and counts against no entry.
//   - A unit whose order was rejected comes back once, also after a crash.
//
// Several workers may run side by side; each partition is read by all of them
// and its entries are shared out by Redis. Within one worker a partition is
// settled in order, one batch at a time; nothing orders batches of different
// workers, and nothing needs to.
//
// # What a crash leaves behind
//
//	crash                          left behind                  healed by
//	after the claim script,        entry in the stream,         the order commits anyway; a repeat
//	before the buyer's answer      buyer recorded               of the claim gets the same ID
//	before COMMIT                  entry pending                reclaim
//	after COMMIT, before           row, entry pending           reclaim: the row is found, announced,
//	the announcement                                            acknowledged; the healing query tells
//	                                                            watchers in the meantime
//	reply of the announcement      event sent, entry            nothing to heal: both are one
//	and acknowledgement lost       acknowledged                 transaction
//	after a REJECTED row,          row, unit still taken        the relay: the row says that a release
//	before the release                                          is due; a second release is a no-op
//	in the middle of a release     unit free, row still         the relay, the same way
//	                               says due
//
// # Who calls it
//
// app runs one [Worker] per process. It reaches Redis and the archive through
// the small ports below.
package worker
