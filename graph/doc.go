// Package graph is the counter: the GraphQL schema and the resolvers behind it.
//
// A resolver takes its arguments, makes one call inward through a port and
// returns what it got; nothing is decided here. What belongs to GraphQL alone is
// here too: scalars, directives, connections, and the presenter that gives every
// error its code and hides foreign ones.
//
// A refused claim is data (a problem in the payload), a fault is an error. No
// resolver hands out another buyer's order: the viewer goes inward with every
// call and the answer is NOT_FOUND.
package graph
