package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
)

const (
	testOrder   = "ord_0301hxyz00000000000000000000"
	testVoucher = "vch_0301hxyz00000000000000000000"
)

// goodFields are an entry as the claim script writes it.
func goodFields(change map[string]string) map[string]any {
	fields := map[string]any{
		"order": testOrder, "voucher": testVoucher, "buyer": "u1", "quantity": "2", "request": "r",
		"claimed_ms": "1900000000000", "pay_before_ms": "1900000900000", "epoch": "1",
	}
	for k, v := range change {
		if v == "(missing)" {
			delete(fields, k)
		} else {
			fields[k] = v
		}
	}
	return fields
}

func TestDecodeEntry(t *testing.T) {
	t.Parallel()
	payBefore := time.UnixMilli(1900000900000).UTC()
	want := sale.Entry{
		Partition: 3, StreamID: "1-2", Epoch: 1,
		Order: sale.Order{
			ID: testOrder, VoucherID: testVoucher, BuyerID: "u1", RequestID: "r", Quantity: 2, Status: sale.StatusPending, Version: 1,
			ClaimedAt: time.UnixMilli(1900000000000).UTC(), PayBefore: &payBefore,
		},
	}
	got := decodeEntry(3, redis.XMessage{ID: "1-2", Values: goodFields(map[string]string{"field of a newer writer": "x"})})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeEntryFaults guards B4: whatever is wrong is named, and what could be
// read is kept.
func TestDecodeEntryFaults(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		field, value string
	}{
		"no order":                     {"order", "(missing)"},
		"empty order":                  {"order", ""},
		"order of another partition":   {"order", strings.Replace(testOrder, "_03", "_04", 1)},
		"voucher for an order":         {"order", testVoucher},
		"NUL in the order":             {"order", testOrder[:31] + "\x00"},
		"huge order":                   {"order", huge},
		"no voucher":                   {"voucher", "(missing)"},
		"voucher of another partition": {"voucher", strings.Replace(testVoucher, "_03", "_04", 1)},
		"no buyer":                     {"buyer", "(missing)"},
		"empty buyer":                  {"buyer", ""},
		"NUL in the buyer":             {"buyer", "u\x00"},
		"buyer is not text":            {"buyer", "u\xff"},
		"huge buyer":                   {"buyer", huge},
		"no quantity":                  {"quantity", "(missing)"},
		"quantity is a word":           {"quantity", "one"},
		"quantity 0":                   {"quantity", "0"},
		"quantity below 0":             {"quantity", "-3"},
		"half a unit":                  {"quantity", "1.5"},
		"V9: rounded by Lua":           {"quantity", "9.007199254741e+15"},
		"quantity beyond 64 bits":      {"quantity", "99999999999999999999"},
		"quantity beyond 53 bits":      {"quantity", "9007199254740993"},
		"no request":                   {"request", "(missing)"},
		"NUL in the request":           {"request", "\x00"},
		"huge request":                 {"request", huge},
		"no claim time":                {"claimed_ms", "(missing)"},
		"claim time below 0":           {"claimed_ms", "-1"},
		"claimed in the year 10000":    {"claimed_ms", "253402300800000"},
		"no payment time":              {"pay_before_ms", "(missing)"},
		"paid in the year 10000":       {"pay_before_ms", "253402300800000"},
		"no epoch":                     {"epoch", "(missing)"},
		"epoch is a word":              {"epoch", "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := goodFields(map[string]string{test.field: test.value})
			e := decodeEntry(3, redis.XMessage{ID: "1-2", Values: fields})
			if e.Fault == nil || !strings.Contains(e.Fault.Error(), "field "+test.field+" ") {
				t.Errorf("fault: %v", e.Fault)
			}
			if e.Fault != nil && (strings.Contains(e.Fault.Error(), "\x00") || len(e.Fault.Error()) > 200) {
				t.Errorf("the fault repeats what is wrong: %.300q", e.Fault)
			}
			if len(e.Fields) != len(fields) {
				t.Errorf("%d of %d fields are kept", len(e.Fields), len(fields))
			}
			if test.field != "order" && e.Order.ID != testOrder {
				t.Errorf("the order's name %q is lost", e.Order.ID)
			}
			if test.field == "order" && e.Order.ID != "" {
				t.Errorf("it names %q", e.Order.ID)
			}
		})
	}
}

func TestDecodeEntryOfNothing(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{
		"V21: no content": nil, "empty": {}, "odd": {"": ""}, "not text": {"order": 5, "buyer": nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := decodeEntry(3, redis.XMessage{ID: "1-2", Values: values})
			if e.Fault == nil || e.Order.ID != "" || e.Order.BuyerID != "" || e.Order.VoucherID != "" || e.Order.Quantity != 0 {
				t.Errorf("got %+v", e)
			}
			if e.Fields == nil {
				t.Error("the dead letter would have no fields")
			}
		})
	}
}

// FuzzDecodeEntry checks that no entry, however strange, is a panic, and that one
// without a fault can be stored and told of.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(testOrder, testVoucher, "u1", "2", "r", "1900000000000", "1900000900000", "1")
	f.Add("", "", "", "", "", "", "", "")
	f.Add(testOrder, testVoucher, "u\x00", "-3", "a|b", "9.0e+15", "99999999999999999999", "0x10")
	f.Add(testVoucher, testOrder, "\xff", "+1", "\n", "253402300800000", " 1", "1 ")
	f.Fuzz(func(t *testing.T, order, voucher, buyer, quantity, request, claimed, payBefore, epoch string) {
		e := decodeEntry(3, redis.XMessage{ID: "1-0", Values: map[string]any{
			"order": order, "voucher": voucher, "buyer": buyer, "quantity": quantity, "request": request,
			"claimed_ms": claimed, "pay_before_ms": payBefore, "epoch": epoch,
		}})
		if e.Fault != nil {
			if len(e.Fields) != 8 || e.Fault.Error() == "" {
				t.Errorf("%v with fields %v", e.Fault, e.Fields)
			}
			return
		}
		o := e.Order
		if o.ID.Partition() != 3 || o.VoucherID.Partition() != 3 || o.Quantity < 1 || e.Epoch < 0 ||
			sale.BuyerIDFault(o.BuyerID) != "" || !sale.RequestIDWellFormed(o.RequestID) || o.Status != sale.StatusPending {
			t.Errorf("taken for good: %+v", e)
		}
		if _, err := json.Marshal(o.ClaimedAt); err != nil {
			t.Error(err)
		}
		if told, err := sale.DecodeEvent(sale.EncodeEvent(o)); err != nil || told.ID != o.ID || told.BuyerID != o.BuyerID {
			t.Errorf("told as %+v, %v", told, err)
		}
	})
}

func TestDecodePendingFaults(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "too few parts": testVoucher + "|1|2|3|r", "no voucher": "|1|2|3|r|u", "quantity is a word": testVoucher + "|one|2|3|r|u",
		"time is a word": testVoucher + "|1|now|3|r|u", "rounded by Lua": testVoucher + "|1|2|1.9e+12|r|u",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if o, err := decodePending(testOrder, value); err == nil || !strings.Contains(err.Error(), testOrder) {
				t.Errorf("read as %+v, %v", o, err)
			}
		})
	}
	o, err := decodePending(testOrder, testVoucher+"|1|2|3||a|b|c")
	if err != nil || o.BuyerID != "a|b|c" {
		t.Errorf("a buyer with separators is read as %q, %v", o.BuyerID, err)
	}
}

// TestMemoryOfAbsentVouchersIsBounded: made-up IDs must not fill the memory.
func TestMemoryOfAbsentVouchersIsBounded(t *testing.T) {
	t.Parallel()
	var a absentVouchers
	now := time.Now()
	for range absentMax + 1 {
		a.add(sale.NewVoucherID(1, now))
	}
	if len(a.until) > absentMax {
		t.Errorf("%d are remembered", len(a.until))
	}
	id := sale.NewVoucherID(1, now)
	a.add(id)
	if !a.has(id) {
		t.Error("the last one is forgotten")
	}
	a.forget(id)
	if a.has(id) {
		t.Error("the created one is remembered as absent")
	}
}
