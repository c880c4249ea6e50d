package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestVoucherComesOutWhole: all fields, exact money, times in UTC with
// milliseconds.
func TestVoucherComesOutWhole(t *testing.T) {
	t.Parallel()
	v := sample()
	v.PayValue = sale.Money{Minor: 9_007_199_254_740_993, Currency: "CNY"} // above 2^53: a float would round it
	v.ActualValue = sale.Money{Minor: 1_234, Currency: "BHD"}
	v.OpensAt = noon.In(time.FixedZone("", 8*3600))
	b := setup(t, &fakes{voucher: func(sale.VoucherID) (sale.Voucher, error) { return v, nil }})
	a := b.ask(nobody, fmt.Sprintf(`{ voucher(id: %q) {
		id title subtitle rules shopId payValue { amount currencyCode } actualValue { amount currencyCode }
		total remaining perBuyerLimit paymentWindowSeconds opensAt closesAt saleState } }`, voucherID), "")
	want := fmt.Sprintf(`{"voucher":{"id":%q,"title":"120 for 100","subtitle":"Monday to Friday","rules":["Eat-in only"],"shopId":"1",`+
		`"payValue":{"amount":"90071992547409.93","currencyCode":"CNY"},"actualValue":{"amount":"1.234","currencyCode":"BHD"},`+
		`"total":100,"remaining":60,"perBuyerLimit":2,"paymentWindowSeconds":900,`+
		`"opensAt":"2030-01-01T12:00:00.123Z","closesAt":"2030-01-01T13:00:00.123Z","saleState":"OPEN"}}`, voucherID)
	if diff := cmp.Diff(want, string(a.Data)); diff != "" || len(a.Errors) > 0 {
		t.Errorf("errors %+v (-want +got):\n%s", a.Errors, diff)
	}
}

// TestOrderComesOutWhole, in two of its states.
func TestOrderComesOutWhole(t *testing.T) {
	t.Parallel()
	const fields = `{ id voucher { title } quantity status version claimedAt committedAt payBefore rejection { code message } }`
	states := map[string]sale.Order{
		`"quantity":1,"status":"COMMITTED","version":2,"claimedAt":"2030-01-01T12:00:00.123Z","committedAt":"2030-01-01T12:00:01.123Z","payBefore":"2030-01-01T12:15:00.123Z","rejection":null`: pending().Committed(noon.Add(time.Second)),
		`"quantity":1,"status":"REJECTED","version":2,"claimedAt":"2030-01-01T12:00:00.123Z","committedAt":null,"payBefore":"2030-01-01T12:15:00.123Z",` +
			`"rejection":{"code":"SOLD_OUT","message":"No unit was left when the order was written down. Nothing will be charged."}`: pending().Rejected(sale.RejectedSoldOut),
	}
	for want, o := range states {
		b := setup(t, &fakes{
			order: func(buyer string, id sale.OrderID) (sale.Order, error) {
				if buyer != "ada" || id != orderID {
					t.Errorf("asked for order %s of %s", id, buyer)
				}
				return o, nil
			},
			voucher: func(sale.VoucherID) (sale.Voucher, error) { return sample(), nil },
		})
		a := b.ask(ada, fmt.Sprintf(`{ order(id: %q) %s }`, orderID, fields), "")
		want = fmt.Sprintf(`{"order":{"id":%q,"voucher":{"title":"120 for 100"},%s}}`, orderID, want)
		if diff := cmp.Diff(want, string(a.Data)); diff != "" || len(a.Errors) > 0 {
			t.Errorf("errors %+v (-want +got):\n%s", a.Errors, diff)
		}
	}
}

// TestValuesIn: what a scalar accepts and refuses, as a variable and as a literal
// in the document, where only their common form is allowed.
func TestValuesIn(t *testing.T) {
	t.Parallel()
	const money = `{"amount":%s,"currencyCode":"CNY"}`
	cases := []struct {
		member, value string
		message       string // part of the refusal; "" when it goes inward
	}{
		{"total", "10", ""},
		{"total", "2147483647", ""},
		{"total", "2147483648", "does not fit a 32-bit Int"},
		{"total", "-2147483649", "does not fit a 32-bit Int"},
		{"total", "9223372036854775808", "cannot use string as Int"}, // the validator's words for a number that is none
		{"total", "1.5", "cannot use string as Int"},
		{"total", "1e3", "cannot use string as Int"},
		{"total", `"10"`, "an Int is a whole number"},
		{"total", "true", "cannot use bool as Int"},
		{"payValue", fmt.Sprintf(money, `"100.00"`), ""},
		{"payValue", fmt.Sprintf(money, `100.00`), `a Decimal is a string such as "100.00", not a number`},
		{"payValue", fmt.Sprintf(money, `100`), `a Decimal is a string such as "100.00", not a number`},
		{"opensAt", `"2030-01-01T10:00:00Z"`, ""},
		{"opensAt", `"2030-01-01T10:00:00.123456+08:00"`, ""},
		{"opensAt", `"2030-01-01T10:00:00"`, `such as "2030-01-01T10:00:00+08:00"`},
		{"opensAt", `"2030-01-01"`, `such as "2030-01-01T10:00:00+08:00"`},
		{"opensAt", `"2030-02-30T10:00:00Z"`, `such as "2030-01-01T10:00:00+08:00"`},
		{"opensAt", `"tomorrow"`, `such as "2030-01-01T10:00:00+08:00"`},
		{"opensAt", `1893456000`, `a DateTime is a string such as "2030-01-01T10:00:00+08:00"`},
		{"title", `{}`, "cannot use map as String"},
	}
	for _, c := range cases {
		inward := false
		b := setup(t, &fakes{createVoucher: func(sale.Draft) (sale.Voucher, error) { inward = true; return sample(), nil }})
		a := b.ask(admin, createDocument, draftJSON(c.member, c.value))
		if inward != (c.message == "") {
			t.Errorf("%s: %s went inward: %t, %+v", c.member, c.value, inward, a.Errors)
			continue
		}
		if c.message == "" {
			continue
		}
		if len(a.Errors) != 1 || !strings.Contains(a.Errors[0].Message, c.message) {
			t.Errorf("%s: %s is refused with %+v, want %q", c.member, c.value, a.Errors, c.message)
		}
		e := a.Errors[0].Extensions
		named := len(e.Fields) == 1 && strings.HasPrefix(e.Fields[0].Field, c.member) && strings.Contains(e.Fields[0].Reason, c.message)
		if e.Code != "GRAPHQL_VALIDATION_FAILED" && (e.Code != "BAD_USER_INPUT" || !named) {
			t.Errorf("%s: %s has the extensions %+v", c.member, c.value, e)
		}
	}
}

// TestLiteralsIn: the same rules for values that are written into the document.
func TestLiteralsIn(t *testing.T) {
	t.Parallel()
	cases := map[string]string{ // argument of vouchers: part of the refusal
		"first: 5":          "",
		"first: 2147483648": "does not fit a 32-bit Int",
		"first: 1.5":        "Int cannot represent non-integer value",
		`first: "5"`:        "Int cannot represent non-integer value",
		"state: OPEN":       "",
		`state: "OPEN"`:     "OPEN",
		"state: UNKNOWN":    "UNKNOWN",
	}
	for argument, want := range cases {
		inward := false
		b := setup(t, &fakes{vouchers: func(*sale.State, sale.Page) (sale.Slice[sale.Voucher], error) {
			inward = true
			return sale.Slice[sale.Voucher]{}, nil
		}})
		a := b.ask(nobody, `{ vouchers(`+argument+`) { nodes { id } } }`, "")
		if inward != (want == "") || (want != "" && (len(a.Errors) != 1 || !strings.Contains(a.Errors[0].Message, want))) {
			t.Errorf("vouchers(%s) went inward: %t, %+v, want %q", argument, inward, a.Errors, want)
		}
	}
}

// TestIntOut: a number that does not fit is a fault of the server, never another
// number.
func TestIntOut(t *testing.T) {
	t.Parallel()
	v := sample()
	v.Total = 1 << 31
	b := setup(t, &fakes{voucher: func(sale.VoucherID) (sale.Voucher, error) { return v, nil }})
	a := b.ask(nobody, fmt.Sprintf(`{ voucher(id: %q) { total } }`, voucherID), "")
	if a.code(t) != "INTERNAL" || strings.Contains(string(a.Data), "2147483648") {
		t.Errorf("%s %+v", a.Data, a.Errors)
	}
}

// TestCreateVoucherGoesInward: defaults are filled in, and the offset is counted.
func TestCreateVoucherGoesInward(t *testing.T) {
	t.Parallel()
	var got sale.Draft
	b := setup(t, &fakes{createVoucher: func(d sale.Draft) (sale.Voucher, error) { got = d; return sample(), nil }})
	a := b.ask(admin, createDocument, draftJSON("rules", `["a","b"]`))
	if string(a.Data) != fmt.Sprintf(`{"createVoucher":{"voucher":{"id":%q}}}`, voucherID) {
		t.Errorf("%s %+v", a.Data, a.Errors)
	}
	want := sale.Draft{
		Title: "t", Rules: []string{"a", "b"}, Total: 10, PerBuyerLimit: 1, PaymentWindowSeconds: 900,
		PayValue: sale.MoneyInput{Amount: "100.00", CurrencyCode: "CNY"}, ActualValue: sale.MoneyInput{Amount: "120.00", CurrencyCode: "CNY"},
		OpensAt: time.Date(2030, 1, 1, 2, 0, 0, 0, time.UTC), ClosesAt: time.Date(2030, 1, 1, 4, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
