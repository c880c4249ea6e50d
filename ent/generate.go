// Package ent is the generated access to the archive's tables. Only
// ent/schema is written by hand; everything else comes from it with
// go generate and is checked in. internal/store is the only caller.
package ent

//go:generate go tool ent generate --feature sql/lock,sql/execquery ./schema
