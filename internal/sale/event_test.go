package sale_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func sampleOrder() sale.Order {
	now := sale.Timestamp(time.Now())
	payBefore := now.Add(15 * time.Minute)
	return sale.Order{
		ID: sale.NewOrderID(3, now), VoucherID: sale.NewVoucherID(3, now), BuyerID: "buyer \"1\" | \u5f20\u4e09", RequestID: "r-1",
		Quantity: 2, Status: sale.StatusPending, Version: 1, ClaimedAt: now, PayBefore: &payBefore,
	}
}

func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	plain := sampleOrder()
	bare := plain
	bare.RequestID, bare.PayBefore = "", nil
	for name, o := range map[string]sale.Order{
		"pending": plain, "bare": bare, "committed": plain.Committed(time.Now()), "rejected": plain.Rejected(sale.RejectedLimitReached),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sale.DecodeEvent(sale.EncodeEvent(o))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(o, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEventNamesStay guards other programs that read the stream, and E1: an
// identifier is text.
func TestEventNamesStay(t *testing.T) {
	t.Parallel()
	o := sampleOrder().Committed(time.Now())
	o.Rejection = &sale.OrderRejection{Code: sale.RejectedInvalid}
	var got map[string]any
	if err := json.Unmarshal([]byte(sale.EncodeEvent(o)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": string(o.ID), "voucherId": string(o.VoucherID), "buyerId": o.BuyerID, "requestId": o.RequestID,
		"quantity": 2.0, "status": "COMMITTED", "version": 2.0, "claimedMs": float64(o.ClaimedAt.UnixMilli()),
		"committedMs": float64(o.CommittedAt.UnixMilli()), "payBeforeMs": float64(o.PayBefore.UnixMilli()), "rejection": "INVALID",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventOfANewerWriter(t *testing.T) {
	t.Parallel()
	o := sampleOrder()
	newer := strings.Replace(sale.EncodeEvent(o), "{", `{"couponCode":{"a":[1]},`, 1)
	got, err := sale.DecodeEvent(newer)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventThatNamesNoOrder(t *testing.T) {
	t.Parallel()
	id := string(sale.NewOrderID(1, time.Now()))
	for name, text := range map[string]string{
		"empty": "", "no JSON": "hello", "a list": "[]", "null": "null", "no members": "{}", "cut off": `{"id":"` + id,
		"no version": `{"id":"` + id + `"}`, "version 0": `{"id":"` + id + `","version":0}`,
		"a voucher's ID": `{"id":"` + string(sale.NewVoucherID(1, time.Now())) + `","version":1}`,
		"a number as ID": `{"id":467131188225,"version":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if o, err := sale.DecodeEvent(text); err == nil {
				t.Errorf("%q was read as %+v", text, o)
			}
		})
	}
}
