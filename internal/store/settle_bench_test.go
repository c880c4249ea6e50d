package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// BenchmarkSettle settles batches of 500 orders of one voucher, each of another
// buyer, into a database that syncs every commit to its disk.
func BenchmarkSettle(b *testing.B) {
	const size = 500
	for _, engine := range []string{"postgres", "sqlite"} {
		b.Run(engine, func(b *testing.B) {
			rawURL := "sqlite:" + filepath.Join(b.TempDir(), "x.db")
			if engine == "postgres" {
				rawURL = testenv.Postgres(b, testenv.WithFsync()).URL("postgres")
			}
			a := migrated(b, rawURL)
			v := newVoucher(b, a, func(v *sale.Voucher) { v.Total = sale.MaxTotal })
			settled := 0
			for b.Loop() {
				b.StopTimer()
				entries := make([]sale.Entry, size)
				for i := range entries {
					entries[i] = claim(v.ID, fmt.Sprintf("buyer-%d", settled+i))
				}
				b.StartTimer()
				if _, err := a.Settle(b.Context(), v.ID, entries); err != nil {
					b.Fatal(err)
				}
				settled += size
			}
			b.ReportMetric(float64(settled)/b.Elapsed().Seconds(), "orders/s")
		})
	}
}
