// Package cli is the command line: it turns arguments and settings into calls of
// app and into an exit code, and every fault into one sentence on standard error.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage or settings.
package cli
