// Package notify is the bell: it tells the watchers in this process when an
// order or a voucher has changed.
//
// # How a change reaches a watcher
//
//	worker: commit -> event stream of the partition (Redis)
//	        -> tail (one cursor a partition and process) -> hub -> watcher's channel
//	archive -> healing query (one a process, every HealEvery)  -> hub
//	gate    -> live query of watched vouchers, every LiveEvery -> hub
//
// # What it promises
//
//   - Subscribe, then look: a watcher is registered first, then the present state
//     is read and sent, so nothing falls in between.
//   - Only committed changes are told, and the present state: an event is sent
//     after its row's commit.
//   - A watcher hears of a change within HealEvery plus one query even when every
//     event is lost on the way: events are hints, the archive is the truth.
//   - Versions only rise: repeats and late arrivals are dropped.
//   - The slow-reader law: a watcher's channel holds one value and the newest
//     wins. A slow reader skips middle states; nobody waits for it.
//   - A final state is sent and the channel closed. Otherwise it is closed when
//     the watcher's context ends, never before.
//
// # Who calls it
//
// graph opens watchers; app runs the [Bell]. It reads the archive and the gate
// through the ports [Archive], [Lookup] and [Stock].
package notify
