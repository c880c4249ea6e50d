//go:build unix

// Package testenv gives tests their own redis-server and PostgreSQL processes.
//
// # What it owns
//
// The processes, their free ports on 127.0.0.1 and their folders. [Redis],
// [RedisCluster] and [Postgres] start a server for one test; [Database] makes
// an empty database in one PostgreSQL that the tests of a binary share.
//
// # What it promises
//
//   - Nothing that already runs on the machine is used, unless
//     FLASHCLAIM_TEST_REDIS_URL or FLASHCLAIM_TEST_DATABASE_URL says so.
//   - A server answers when the call returns.
//   - Everything started is stopped: by the test's cleanup, by [Main], and by
//     the kernel when the test binary is killed (on Linux).
//   - Every call ends the test with one sentence when it cannot do its work, so
//     it must be made from the test's own goroutine.
//
// A server that the environment named cannot be killed, paused or configured.
// A test that needs that is skipped with the reason; where the programs are
// installed nothing is ever skipped.
//
// Only tests call this package, each package's TestMain through [Main].
package testenv
