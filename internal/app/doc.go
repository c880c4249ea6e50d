// Package app is the only room that knows all the others. It builds them, wires
// their ports, runs them together and ends them in order.
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
// Nothing depends on a clean end: a killed process leaves only what the worker's
// package comment lists.
package app
