// Package gate owns everything that Redis knows of a sale: the keys, the
// scripts, the order stream with its consumer group, and the record of accepted
// claims that are not written down yet.
//
// # What it promises
//
//   - A claim is decided and recorded by one script in one round trip; a refused
//     claim changes no key and an equal request gets the same order ([Gate.Claim]).
//   - stock + units held by buyers = total, in every state that anybody can see.
//   - Units come back once per order ([Gate.Release]).
//   - A sale that is not in Redis is loaded from the archive once, whoever asks
//     first, and answers NOT_READY until then, never SOLD_OUT ([Gate.Load]).
//   - An entry is delivered at least once: read, else reclaimed, until it is
//     acknowledged ([Gate.Read], [Gate.Reclaim], [Gate.Acknowledge]). Entries of
//     one partition come in stream order, reclaimed ones later.
//   - Trimming removes only entries that every group has acknowledged
//     ([Gate.Trim]).
//
// # Keys
//
// All keys of a partition share the hash tag {pNN}, so every script runs on one
// node of a cluster; no script builds a key.
//
//	fc:{pNN}:v:<voucher>:sale    hash    window, limit, epoch, state, total
//	fc:{pNN}:v:<voucher>:stock   string  units left
//	fc:{pNN}:v:<voucher>:buyers  hash    buyer -> "order|quantity|request ..."
//	fc:{pNN}:orders              stream  accepted claims, group "archive"
//	fc:{pNN}:pending             hash    order -> what was promised; until acknowledged
//	fc:{pNN}:events              stream  committed changes: order -> the whole order, several in one event
//
// # Who calls it
//
// graph (claims, live stock, pending orders), worker (entries, releases), and
// app (opening, checks). It calls the archive through [Source], and only to load
// a sale.
package gate
