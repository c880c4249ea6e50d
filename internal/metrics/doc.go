// Package metrics counts what happens and shows it to Prometheus. It is the
// only home of prometheus/client_golang.
//
// The rooms do not know it: each declares an interface of what it reports, in
// plain types, and internal/app hands a [Metrics] in. Every method is safe for
// concurrent use, does not block, and allocates nothing for the values that
// are known beforehand.
package metrics
