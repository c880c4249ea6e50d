// Package app is the only room that knows all the others. It builds them, wires
// their ports, runs them together and ends them in order.
//
// # How it starts
//
// [Open] does no I/O, and [App.Run] asks Redis and the database once. What is
// away is waited for, so all processes may start in any order; meanwhile claims
// are answered UNAVAILABLE and /readyz says what is missing. What no waiting
// heals ends the process with a sentence: a database that is not migrated, a
// Redis that cannot keep the chosen durability, fewer partitions than are used.
// Only a database that came up while the process waited may be migrated late.
//
// # How it ends
//
// Senders stop before receivers:
//
//	server (refuses, answers what is in flight, closes sockets)
//	  -> worker (finishes its batches, acknowledges, leaves the groups)
//	    -> bell (stops listening)
//	      -> gate, archive (connections closed)
//
// The order is the same whichever part ends first, by a fault or by itself.
// Nothing depends on a clean end: a killed process leaves only what the worker's
// package comment lists.
package app
