//go:build unix

package testenv

import (
	"testing"
	"time"
)

// pollEvery is short beside anything that a process does and long beside a
// scheduler's turn.
const pollEvery = 5 * time.Millisecond

// Eventually waits until the condition holds and fails the test when it does
// not within the given time. What completes the sentence "waited for ...".
func Eventually(tb testing.TB, within time.Duration, what string, cond func() bool) {
	tb.Helper()
	if !poll(within, cond) {
		tb.Fatalf("waited %s in vain for %s", within, what)
	}
}

// poll tells whether the condition came true in time. It asks once more after
// the deadline, so that a stalled machine does not turn a yes into a no.
func poll(within time.Duration, cond func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return cond()
		}
	}
	return true
}
