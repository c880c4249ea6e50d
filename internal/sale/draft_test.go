package sale_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func goodDraft(mutate ...func(*sale.Draft)) sale.Draft {
	opens := time.Date(2030, 1, 1, 10, 0, 0, 0, time.FixedZone("", 8*3600))
	d := sale.Draft{
		Title: "100 for 80", Rules: []string{"Weekdays only"},
		PayValue:    sale.MoneyInput{Amount: "80", CurrencyCode: "CNY"},
		ActualValue: sale.MoneyInput{Amount: "100.00", CurrencyCode: "CNY"},
		Total:       100, PerBuyerLimit: 1, PaymentWindowSeconds: 900, OpensAt: opens, ClosesAt: opens.Add(time.Hour),
	}
	for _, m := range mutate {
		m(&d)
	}
	return d
}

func TestDraftBecomesAVoucher(t *testing.T) {
	t.Parallel()
	subtitle, shop := "", "shop-7"
	d := goodDraft(func(d *sale.Draft) {
		d.Subtitle, d.ShopID = &subtitle, &shop
		d.OpensAt = d.OpensAt.Add(123_456 * time.Nanosecond)
	})
	id := sale.NewVoucherID(4, time.Now())
	want := sale.Voucher{
		ID: id, Title: "100 for 80", Subtitle: &subtitle, Rules: []string{"Weekdays only"}, ShopID: &shop,
		PayValue: sale.Money{Minor: 8000, Currency: "CNY"}, ActualValue: sale.Money{Minor: 10000, Currency: "CNY"},
		Total: 100, PerBuyerLimit: 1, PaymentWindow: 15 * time.Minute,
		OpensAt:  time.Date(2030, 1, 1, 2, 0, 0, 0, time.UTC),
		ClosesAt: time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC), Epoch: 1,
	}
	got := must[sale.Voucher](t)(d.Voucher(id))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d.Rules[0] = "changed later"
	if got.Rules[0] != "Weekdays only" {
		t.Error("the voucher shares its rules with the draft")
	}
}

func TestDraftAtItsLimits(t *testing.T) {
	t.Parallel()
	for name, mutate := range map[string]func(*sale.Draft){
		"one unit":                func(d *sale.Draft) { d.Total = 1 },
		"most units":              func(d *sale.Draft) { d.Total = sale.MaxTotal },
		"highest limit":           func(d *sale.Draft) { d.PerBuyerLimit = sale.MaxPerBuyerLimit },
		"shortest payment":        func(d *sale.Draft) { d.PaymentWindowSeconds = 1 },
		"longest payment":         func(d *sale.Draft) { d.PaymentWindowSeconds = 30 * 24 * 3600 },
		"longest title, in runes": func(d *sale.Draft) { d.Title = strings.Repeat("\u5f20", sale.MaxTitle) },
		"no rules":                func(d *sale.Draft) { d.Rules = nil },
		"most rules":              func(d *sale.Draft) { d.Rules = make50("x") },
		"free of charge":          func(d *sale.Draft) { d.PayValue.Amount = "0" },
		"shortest window":         func(d *sale.Draft) { d.ClosesAt = d.OpensAt.Add(time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := goodDraft(mutate).Voucher("vch"); err != nil {
				t.Error(err)
			}
		})
	}
}

func make50(rule string) []string {
	rules := make([]string, sale.MaxRules)
	for i := range rules {
		rules[i] = rule
	}
	return rules
}

func TestDraftFaults(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		mutate func(*sale.Draft)
		field  string
	}{
		"no title":             {func(d *sale.Draft) { d.Title = "" }, "title"},
		"long title":           {func(d *sale.Draft) { d.Title = strings.Repeat("x", 201) }, "title"},
		"NUL in title":         {func(d *sale.Draft) { d.Title = "a\x00" }, "title"},
		"line break in title":  {func(d *sale.Draft) { d.Title = "a\nb" }, "title"},
		"not text":             {func(d *sale.Draft) { d.Title = "\xff" }, "title"},
		"long subtitle":        {func(d *sale.Draft) { d.Subtitle = text(strings.Repeat("x", 201)) }, "subtitle"},
		"long shop":            {func(d *sale.Draft) { d.ShopID = text(strings.Repeat("x", 65)) }, "shopId"},
		"too many rules":       {func(d *sale.Draft) { d.Rules = append(make50("x"), "y") }, "rules"},
		"empty rule":           {func(d *sale.Draft) { d.Rules = []string{"a", ""} }, "rules[1]"},
		"long rule":            {func(d *sale.Draft) { d.Rules = []string{strings.Repeat("x", 501)} }, "rules[0]"},
		"wrong amount":         {func(d *sale.Draft) { d.PayValue.Amount = "1,50" }, "payValue.amount"},
		"wrong currency":       {func(d *sale.Draft) { d.ActualValue.CurrencyCode = "yuan" }, "actualValue.currencyCode"},
		"no units":             {func(d *sale.Draft) { d.Total = 0 }, "total"},
		"too many units":       {func(d *sale.Draft) { d.Total = sale.MaxTotal + 1 }, "total"},
		"no limit":             {func(d *sale.Draft) { d.PerBuyerLimit = 0 }, "perBuyerLimit"},
		"limit too high":       {func(d *sale.Draft) { d.PerBuyerLimit = 101 }, "perBuyerLimit"},
		"no time to pay":       {func(d *sale.Draft) { d.PaymentWindowSeconds = 0 }, "paymentWindowSeconds"},
		"too long to pay":      {func(d *sale.Draft) { d.PaymentWindowSeconds = 30*24*3600 + 1 }, "paymentWindowSeconds"},
		"closes as it opens":   {func(d *sale.Draft) { d.ClosesAt = d.OpensAt }, "closesAt"},
		"same millisecond":     {func(d *sale.Draft) { d.ClosesAt = d.OpensAt.Add(time.Microsecond) }, "closesAt"},
		"opens long ago":       {func(d *sale.Draft) { d.OpensAt = time.Time{} }, "opensAt"},
		"closes in year 10000": {func(d *sale.Draft) { d.ClosesAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "closesAt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := goodDraft(test.mutate).Voucher("vch")
			var in *sale.InputError
			if !errors.As(err, &in) || len(in.Faults) != 1 || in.Faults[0].Field != test.field || in.Faults[0].Reason == "" {
				t.Errorf("got %v, want one fault of %s", err, test.field)
			}
		})
	}
}

func TestDraftFaultsComeAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := sale.Draft{}.Voucher("vch")
	var in *sale.InputError
	if !errors.As(err, &in) {
		t.Fatal(err)
	}
	var fields []string
	for _, f := range in.Faults {
		fields = append(fields, f.Field)
	}
	want := []string{
		"title", "payValue.currencyCode", "actualValue.currencyCode", "total", "perBuyerLimit", "paymentWindowSeconds",
		"opensAt", "closesAt", "closesAt",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

const goodJSON = `{"title":"t","rules":["r"],"payValue":{"amount":"80.00","currencyCode":"CNY"},
	"actualValue":{"amount":"100.00","currencyCode":"CNY"},"total":5,
	"opensAt":"2030-01-01T10:00:00+08:00","closesAt":"2030-01-01T12:00:00Z"%s}`

func TestDecodeDraft(t *testing.T) {
	t.Parallel()
	d := must[sale.Draft](t)(sale.DecodeDraft(fmt.Appendf(nil, goodJSON, "")))
	if d.PerBuyerLimit != 1 || d.PaymentWindowSeconds != 900 {
		t.Errorf("left out, the limit is %d and the payment window %d s", d.PerBuyerLimit, d.PaymentWindowSeconds)
	}
	v := must[sale.Voucher](t)(d.Voucher("vch"))
	if want := time.Date(2030, 1, 1, 2, 0, 0, 0, time.UTC); v.OpensAt != want || v.PayValue.Minor != 8000 {
		t.Errorf("opens at %s, costs %d", v.OpensAt, v.PayValue.Minor)
	}
	d = must[sale.Draft](t)(sale.DecodeDraft(fmt.Appendf(nil, goodJSON, `,"perBuyerLimit":3,"paymentWindowSeconds":60,"shopId":"s"`)))
	if d.PerBuyerLimit != 3 || d.PaymentWindowSeconds != 60 || *d.ShopID != "s" {
		t.Errorf("got %+v", d)
	}
}

func TestDecodeDraftFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty":                {``, `voucher must be one JSON object`},
		"not JSON":             {`title: x`, `voucher must be one JSON object`},
		"cut off":              {`{"title":"t"`, `voucher must be one JSON object`},
		"a list":               {`[]`, `voucher must be one JSON object, not a JSON array`},
		"text for a number":    {`{"total":"5"}`, `total must be a whole number, not a JSON string`},
		"half a unit":          {`{"total":1.5}`, `total must be a whole number, not a JSON number 1.5`},
		"number for a text":    {`{"title":5}`, `title must be a text in quotes, not a JSON number`},
		"number for an amount": {`{"payValue":{"amount":80.5,"currencyCode":"CNY"}}`, `payValue.amount must be a text in quotes, not a JSON number`},
		"text for money":       {`{"payValue":"80 CNY"}`, `payValue must be an object in braces, not a JSON string`},
		"text for a list":      {`{"rules":"r"}`, `rules must be a list in brackets, not a JSON string`},
		"unknown field":        {`{"stock":5}`, `stock is not a field of a voucher`},
		"unknown in money":     {`{"payValue":{"currency":"CNY"}}`, `currency is not a field of a voucher`},
		"trailing junk":        {`{} {}`, `voucher must be one JSON object with nothing behind it`},
		"no offset":            {`{"opensAt":"2030-01-01T10:00:00"}`, `opensAt or closesAt must be a time with an offset such as 2030-01-01T10:00:00+08:00, not`},
		"not a time":           {`{"closesAt":"tomorrow"}`, `opensAt or closesAt must be a time with an offset`},
		"number for a time":    {`{"opensAt":1893456000}`, `opensAt or closesAt must be a time with an offset`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sale.DecodeDraft([]byte(test.text))
			if sale.CodeOf(err) != sale.CodeBadUserInput || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s ...", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "sale.") {
				t.Errorf("the message speaks Go: %v", err)
			}
		})
	}
}

func FuzzDecodeDraft(f *testing.F) {
	f.Add(fmt.Sprintf(goodJSON, ""))
	f.Add(`{"total":1e400}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := sale.DecodeDraft([]byte(text))
		if err == nil {
			_, err = d.Voucher("vch")
		}
		if err != nil && sale.CodeOf(err) != sale.CodeBadUserInput {
			t.Errorf("%q: %v", text, err)
		}
	})
}
