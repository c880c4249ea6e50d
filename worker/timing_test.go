package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A pause is between half of the step and the whole; the steps double up to the
// longest and begin again after a success.
func TestBackoffDoublesUpToItsMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backoff{least: 50 * time.Millisecond, most: 2 * time.Second}
		pause := func() time.Duration {
			began := time.Now()
			b.wait(t.Context())
			return time.Since(began)
		}
		steps := []int{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000} // ms
		for round := range 2 {
			for i, ms := range steps {
				step := time.Duration(ms) * time.Millisecond
				if got := pause(); got < step/2 || got > step {
					t.Errorf("round %d: pause %d is %s, want %s to %s", round, i, got, step/2, step)
				}
			}
			b.reset()
		}
	})
}

func TestBackoffEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backoff{least: time.Hour, most: time.Hour}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		b.wait(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("the pause took %s, want 1s", took)
		}
	})
}

func TestEveryBeginsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		began := time.Now()
		var at []time.Duration
		every(ctx, time.Second, func() { at = append(at, time.Since(began)) })
		if len(at) != 4 || at[0] != 0 || at[3] != 3*time.Second {
			t.Errorf("called at %s, want at 0s, 1s, 2s and 3s", at)
		}
		if took := time.Since(began); took != 3500*time.Millisecond {
			t.Errorf("it ended after %s, with its context after 3.5s", took)
		}
	})
}

var errHealed = errors.New("time heals this")

func patient() *Worker {
	return New(Options{Transient: func(err error) bool { return errors.Is(err, errHealed) }, Log: slog.New(slog.DiscardHandler)})
}

// An outage of ten minutes is waited out; the write is tried at least every two
// seconds, and not more often than the pauses allow.
func TestPersistWaitsAnOutageOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, tries := time.Now(), 0
		const outage = 10 * time.Minute
		got, err := persist(t.Context(), patient(), func(context.Context) (string, error) {
			tries++
			if time.Since(began) < outage {
				return "", errHealed
			}
			return "written", nil
		})
		if got != "written" || err != nil {
			t.Errorf("persist gave %q and %v", got, err)
		}
		if late := time.Since(began) - outage; late > 2*time.Second {
			t.Errorf("the write came %s after the outage's end", late)
		}
		if tries < 300 || tries > 620 {
			t.Errorf("%d tries in ten minutes, want one every 1 to 2 s", tries)
		}
	})
}

func TestPersistDoesNotRepeatWhatTimeDoesNotHeal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		_, err := persist(t.Context(), patient(), func(context.Context) (int, error) {
			tries++
			return 0, context.Canceled
		})
		if tries != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d tries, error %v", tries, err)
		}
	})
}

// The context's end stops the repeating, not the write in hand.
func TestPersistFinishesTheWriteInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := persist(ctx, patient(), func(ctx context.Context) (string, error) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 10*time.Second {
				t.Error("the write has no bound of 10 s")
			}
			return "written", ctx.Err()
		})
		if got != "written" || err != nil {
			t.Errorf("persist gave %q and %v", got, err)
		}
		_, err = persist(ctx, patient(), func(context.Context) (int, error) { return 0, errHealed })
		if !errors.Is(err, errHealed) {
			t.Errorf("a fault after the end gave %v", err)
		}
	})
}

// Two workers of one name would settle each other's entries.
func TestEveryWorkerHasItsOwnName(t *testing.T) {
	t.Parallel()
	if a, b := New(Options{}), New(Options{}); a.consumer == b.consumer || a.consumer == "" {
		t.Errorf("two workers are called %q and %q", a.consumer, b.consumer)
	}
}
