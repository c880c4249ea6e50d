package gate

import (
	"fmt"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// group is the consumer group that writes orders down. Other groups on the same
// stream (analytics, mail) have their own positions.
const group = "archive"

func saleKey(id sale.VoucherID) string   { return voucherKey(id, "sale") }
func stockKey(id sale.VoucherID) string  { return voucherKey(id, "stock") }
func buyersKey(id sale.VoucherID) string { return voucherKey(id, "buyers") }

func voucherKey(id sale.VoucherID, part string) string {
	return tag(id.Partition()) + ":v:" + string(id) + ":" + part
}

func ordersKey(partition int) string  { return tag(partition) + ":orders" }
func pendingKey(partition int) string { return tag(partition) + ":pending" }

// EventsKey names the stream of a partition's committed changes. The bell tails
// it.
func EventsKey(partition int) string { return tag(partition) + ":events" }

// tags are the key prefixes of all partitions, made once: every claim needs five
// keys.
var tags = func() (t [sale.MaxPartitions]string) {
	for p := range t {
		t[p] = fmt.Sprintf("fc:{p%02d}", p)
	}
	return t
}()

// tag also serves a malformed identifier, whose partition is -1: its keys are
// nobody's, so it names nothing.
func tag(partition int) string {
	if partition < 0 || partition >= len(tags) {
		return fmt.Sprintf("fc:{p%02d}", partition)
	}
	return tags[partition]
}
