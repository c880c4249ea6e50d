package app

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// open opens an app on the two places and closes it at the test's end. The
// change, if any, is made to options that would run.
func open(t *testing.T, redisURL, databaseURL string, change func(*Options)) *App {
	t.Helper()
	o := Options{
		Config: config.Config{
			RedisURL: redisURL, DatabaseURL: databaseURL, Partitions: 16, Durability: "relaxed",
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	a, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// file is the URL of a database that is there and empty.
func file(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "archive.db")
}

// migrated is the URL of a database that is ready for work.
func migrated(t *testing.T) string {
	t.Helper()
	url := file(t)
	a := open(t, "redis://"+nobody(t), url, nil)
	if err := a.Archive().Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return url
}

// nobody is an address on which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func draft() sale.Draft {
	money := sale.MoneyInput{Amount: "100.00", CurrencyCode: "CNY"}
	now := time.Now()
	return sale.Draft{
		Title: "120 for 100", PayValue: money, ActualValue: money, Total: 10, PerBuyerLimit: 1, PaymentWindowSeconds: 900,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
	}
}
