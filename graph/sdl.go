package graph

import _ "embed"

// SDL is the schema as it was written, with its descriptions.
//
//go:embed schema.graphqls
var SDL string
