// Package testschema is a small executable schema for the tests of the porch:
// one query, one mutation and one subscription that need no Redis and no
// database. Nothing outside server imports it.
package testschema

//go:generate go tool gqlgen --config gqlgen.yml
