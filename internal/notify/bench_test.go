package notify

import (
	"fmt"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// BenchmarkTell is one change of an order on its way through the hub while many
// others are watched: to nobody, to its buyer's socket, and to a crowd.
func BenchmarkTell(b *testing.B) {
	const others = 10_000
	for _, watchers := range []int{0, 1, 10, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			w := newWorld()
			bell := newBell(b, w)
			for range others {
				o := pendingOrder("somebody")
				w.put(o)
				if _, err := bell.WatchOrder(b.Context(), o.BuyerID, o.ID, 0); err != nil {
					b.Fatal(err)
				}
			}
			o := at(pendingOrder("ada"), 0, sale.StatusCommitted)
			w.put(o)
			for range watchers {
				if _, err := bell.WatchOrder(b.Context(), o.BuyerID, o.ID, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				o.Version++
				if fresh := bell.hub.tell(&o); fresh != watchers {
					b.Fatalf("the change was fresh to %d watchers, want %d", fresh, watchers)
				}
			}
		})
	}
}
