// Package house holds no code, only tests of rules that the compiler does not
// know:
//
//   - walls: which package may import which, and which third-party package has
//     its home where;
//   - freshness: generated code is what its schemas generate;
//   - neatness: no file tells of one machine or puts work off.
//
// They run with all other tests, so that `go test ./...` shows a broken rule.
// Nobody imports this package.
package house
