// Package e2e holds no code of the program: its tests play a whole sale through
// the real front door, and its benchmarks measure one.
//
// Servers and workers are processes of their own, as an operator would start
// them: the test binary runs itself as flashclaim. Buyers talk to them with a
// GraphQL client that was generated from the schema.
package e2e
