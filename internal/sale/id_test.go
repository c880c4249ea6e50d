package sale_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

var (
	voucherForm = regexp.MustCompile(`^vch_[0-9]{2}[0-9a-hjkmnp-tv-z]{26}$`)
	orderForm   = regexp.MustCompile(`^ord_[0-9]{2}[0-9a-hjkmnp-tv-z]{26}$`)
)

func TestIDCarriesItsPartition(t *testing.T) {
	t.Parallel()
	for partition := range sale.MaxPartitions {
		v, o := sale.NewVoucherID(partition, time.Now()), sale.NewOrderID(partition, time.Now())
		if !voucherForm.MatchString(string(v)) || v.Partition() != partition {
			t.Errorf("voucher %s of partition %d says %d", v, partition, v.Partition())
		}
		if !orderForm.MatchString(string(o)) || o.Partition() != partition {
			t.Errorf("order %s of partition %d says %d", o, partition, o.Partition())
		}
	}
}

func TestIDOutsideThePartitionsPanics(t *testing.T) {
	t.Parallel()
	for _, partition := range []int{-1, sale.MaxPartitions} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("an order of partition %d was named", partition)
				}
			}()
			sale.NewOrderID(partition, time.Now())
		}()
	}
}

// TestIDsNeedNoCounter guards E3 and E4: many generators at the same instant, or
// after the clock stepped back, never make the same identifier.
func TestIDsNeedNoCounter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	seen := make(map[sale.OrderID]bool, 100_000)
	for range 100_000 {
		seen[sale.NewOrderID(3, now)] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d of 100,000 identifiers of one millisecond are different", len(seen))
	}
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	last := sale.NewOrderID(5, at)
	for _, step := range []time.Duration{time.Millisecond, time.Second, 40 * 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
		at = at.Add(step)
		next := sale.NewOrderID(5, at)
		if next <= last {
			t.Errorf("%s, made %s later, sorts before %s", next, step, last)
		}
		if !next.Time().Equal(at) {
			t.Errorf("%s says %s, it was made at %s", next, next.Time(), at)
		}
		last = next
	}
}

func TestParseRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	good := string(sale.NewOrderID(12, time.Now()))
	bad := map[string]string{
		"empty":            "",
		"prefix alone":     "ord_",
		"short":            good[:31],
		"long":             good + "0",
		"other kind":       "vch_" + good[4:],
		"upper case":       strings.ToUpper(good),
		"letter left out":  good[:31] + "u",
		"separator":        good[:20] + "|" + good[21:],
		"NUL":              good[:31] + "\x00",
		"partition":        good[:4] + "1x" + good[6:],
		"negative":         good[:4] + "-1" + good[6:],
		"other digits":     good[:4] + "\u0661" + good[6:],
		"space in front":   " " + good[:31],
		"invalid UTF-8":    good[:31] + "\xff",
		"a pattern":        "ord_*",
		"a big number":     "467131188225",
		"an opaque cursor": "b3JkXzAx",
	}
	for name, s := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if id, err := sale.ParseOrderID(s); !errors.Is(err, sale.ErrNotFound) || id != "" {
				t.Errorf("ParseOrderID(%q) = %q, %v; want ErrNotFound", s, id, err)
			}
			if !sale.OrderID(s).Time().IsZero() {
				t.Errorf("%q has a time", s)
			}
		})
	}
	if id, err := sale.ParseOrderID(good); err != nil || string(id) != good {
		t.Errorf("ParseOrderID(%q) = %q, %v", good, id, err)
	}
	if _, err := sale.ParseVoucherID(good); !errors.Is(err, sale.ErrNotFound) {
		t.Errorf("an order was taken for a voucher: %v", err)
	}
	if sale.VoucherID(good).Partition() != -1 || sale.OrderID("x").Partition() != -1 {
		t.Error("a malformed identifier has a partition")
	}
}

// FuzzParse checks that what parses is of the one form, and only that.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "ord_0001", "vch_15", "ord_00" + strings.Repeat("0", 26), "vch_99" + strings.Repeat("z", 26),
		"ord_00" + strings.Repeat("u", 26), string(sale.NewOrderID(7, time.UnixMilli(1_700_000_000_000))),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, orderErr := sale.ParseOrderID(s)
		v, voucherErr := sale.ParseVoucherID(s)
		if (orderErr == nil) != orderForm.MatchString(s) || (voucherErr == nil) != voucherForm.MatchString(s) {
			t.Errorf("%q: order %v, voucher %v", s, orderErr, voucherErr)
		}
		if orderErr == nil && (string(o) != s || o.Partition() < 0 || o.Time().IsZero()) {
			t.Errorf("%q parses as %q, partition %d, time %s", s, o, o.Partition(), o.Time())
		}
		if voucherErr == nil && (string(v) != s || v.Partition() < 0) {
			t.Errorf("%q parses as %q, partition %d", s, v, v.Partition())
		}
	})
}
