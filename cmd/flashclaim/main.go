// Command flashclaim runs a voucher flash sale: the GraphQL server, the worker
// that writes orders down, and the operator's commands. See flashclaim --help.
package main

import (
	"os"

	"github.com/flashclaim/flashclaim/internal/cli"
)

func main() {
	ctx, stop := cli.Signals()
	code := cli.Main(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
