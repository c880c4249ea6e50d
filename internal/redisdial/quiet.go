package redisdial

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// go-redis writes faults of its connections to standard error, past every log
// setting and into a person's terminal. Each of them is also an error of the
// command that met it, which the rooms report. The logger is one variable of the
// whole process, so it is set before anything can run.
func init() { redis.SetLogger(&logging.VoidLogger{}) }
