package embedded_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/embedded"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestNothingSurvives: both services answer, on 127.0.0.1 only, and Close leaves
// neither a port nor a file.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	if host, _, err := net.SplitHostPort(options.Addr); err != nil || host != "127.0.0.1" {
		t.Errorf("Redis listens on %s", options.Addr)
	}
	client := redis.NewClient(options)
	if err := client.Set(context.Background(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	file, ok := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !ok {
		t.Fatalf("the database is %s", s.DatabaseURL)
	}
	if err := os.WriteFile(file, []byte("rows"), 0o600); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if c, err := net.Dial("tcp", options.Addr); err == nil {
		_ = c.Close()
		t.Error("Redis still listens")
	}
}

// TestTwoAtOnce: two programs side by side share nothing.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	urls := map[string]bool{}
	for range 2 {
		s, err := embedded.Start()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		urls[s.RedisURL], urls[s.DatabaseURL] = true, true
	}
	if len(urls) != 4 {
		t.Errorf("they share one of %v", urls)
	}
}
