// Package embedded puts Redis and the database into the process, for a first
// look: miniredis in memory and SQLite in a temporary folder. Nothing survives
// its end. Everything in front of them is the same as in production; only the
// two URLs differ.
package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
)

// Services are a running Redis and a place for a database.
type Services struct {
	RedisURL    string
	DatabaseURL string
	redis       *miniredis.Miniredis
	folder      string
}

// Start starts them on a free port of 127.0.0.1 and a folder of their own.
func Start() (*Services, error) {
	folder, err := os.MkdirTemp("", "flashclaim-dev-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	redis, err := miniredis.Run()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded Redis: %w", err), os.RemoveAll(folder))
	}
	return &Services{
		RedisURL:    "redis://" + redis.Addr() + "/0",
		DatabaseURL: "sqlite:" + filepath.Join(folder, "archive.db"),
		redis:       redis,
		folder:      folder,
	}, nil
}

// Close stops Redis and removes the folder.
func (s *Services) Close() error {
	s.redis.Close()
	return os.RemoveAll(s.folder)
}
