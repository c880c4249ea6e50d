package sale

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// MaxPartitions is the largest number of partitions a deployment may use: a
// partition is written with two decimal digits in every identifier and key.
const MaxPartitions = 100

// VoucherID names a voucher: "vch_", two digits of partition, and 26 letters
// and digits that hold 48 bits of milliseconds and 80 random bits (the layout of
// a ULID). It is opaque to clients and always a string, because JavaScript and
// Lua both round integers above 2^53.
type VoucherID string

// OrderID names an order: "ord_" and the same layout as a [VoucherID]. The
// partition is that of the order's voucher. It is unguessable enough to be no
// counter, yet never treated as a secret: ownership is checked on every read.
type OrderID string

const (
	voucherPrefix = "vch_"
	orderPrefix   = "ord_"
	idLength      = len(voucherPrefix) + 2 + 26
)

// idAlphabet is Crockford's base32 in lower case: no i, l, o, u, and sorted as
// bytes, so that later identifiers sort after earlier ones.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

var idEncoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

// NewVoucherID makes an identifier in the given partition (0 to
// MaxPartitions-1). The time only sorts it; uniqueness rests on 80 bits from
// crypto/rand.
func NewVoucherID(partition int, now time.Time) VoucherID {
	return VoucherID(newID(voucherPrefix, partition, now))
}

// NewOrderID makes an identifier in the given partition, which must be that of
// the order's voucher.
func NewOrderID(partition int, now time.Time) OrderID {
	return OrderID(newID(orderPrefix, partition, now))
}

// ParseVoucherID checks the form of a voucher's identifier. The error is
// [ErrNotFound]: a malformed identifier names nothing.
func ParseVoucherID(s string) (VoucherID, error) {
	if !wellFormed(s, voucherPrefix) {
		return "", ErrNotFound
	}
	return VoucherID(s), nil
}

// ParseOrderID checks the form of an order's identifier. The error is
// [ErrNotFound].
func ParseOrderID(s string) (OrderID, error) {
	if !wellFormed(s, orderPrefix) {
		return "", ErrNotFound
	}
	return OrderID(s), nil
}

// Partition tells in which partition the voucher lives. It is -1 for an
// identifier that did not come from [NewVoucherID] or [ParseVoucherID].
func (id VoucherID) Partition() int { return partitionOf(string(id), voucherPrefix) }

// Partition tells in which partition the order lives. It is -1 for an
// identifier that did not come from [NewOrderID] or [ParseOrderID].
func (id OrderID) Partition() int { return partitionOf(string(id), orderPrefix) }

func newID(prefix string, partition int, now time.Time) string {
	if partition < 0 || partition >= MaxPartitions {
		panic(fmt.Sprintf("sale: partition %d is outside 0 to %d", partition, MaxPartitions-1))
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	if _, err := rand.Read(raw[6:]); err != nil {
		panic("sale: crypto/rand failed: " + err.Error()) // documented never to happen
	}
	var id [idLength]byte
	copy(id[:], prefix)
	id[4], id[5] = byte('0'+partition/10), byte('0'+partition%10)
	idEncoding.Encode(id[6:], raw[:])
	return string(id[:])
}

func wellFormed(s, prefix string) bool {
	if partitionOf(s, prefix) < 0 {
		return false
	}
	for i := len(prefix) + 2; i < len(s); i++ {
		if strings.IndexByte(idAlphabet, s[i]) < 0 {
			return false
		}
	}
	return true
}

func partitionOf(s, prefix string) int {
	if len(s) != idLength || s[:len(prefix)] != prefix || !isDigit(s[4]) || !isDigit(s[5]) {
		return -1
	}
	return int(s[4]-'0')*10 + int(s[5]-'0')
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Time is when the identifier was made, to the millisecond; for an order that is
// within the clocks' difference of its claim. It is the zero time for a
// malformed identifier.
func (id OrderID) Time() time.Time {
	if !wellFormed(string(id), orderPrefix) {
		return time.Time{}
	}
	raw, err := idEncoding.DecodeString(string(id[6:]))
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(raw[:8]) >> 16)).UTC()
}
