// Package playground serves GraphiQL from the binary: a page to try the API
// from, with subscriptions, that needs no internet. The libraries under assets
// are npm packages, unchanged but compressed; fetch.sh re-creates them from
// pinned versions, and their licences lie beside them.
//
// The page has no inline script and a strict content security policy, asks
// nothing of any other origin, may not be framed, and keeps nothing in the
// browser. The server room mounts [New] at /playground.
package playground
