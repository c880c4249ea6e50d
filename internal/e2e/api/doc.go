// Package api is a GraphQL client generated from the schema, so that the
// end-to-end tests talk to the server as its users do.
package api

//go:generate go tool genqlient genqlient.yaml
