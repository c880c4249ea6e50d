package sale_test

import (
	"testing"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
