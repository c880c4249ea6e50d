package sale_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		amount   sale.Decimal
		currency sale.CurrencyCode
		minor    int64
		shown    sale.Decimal
	}{
		"cents":                     {"100.00", "CNY", 10000, "100.00"},
		"no point":                  {"100", "CNY", 10000, "100.00"},
		"one digit":                 {"0.5", "USD", 50, "0.50"},
		"what floats cannot":        {"0.29", "USD", 29, "0.29"},
		"nothing":                   {"0", "EUR", 0, "0.00"},
		"one cent":                  {"0.01", "EUR", 1, "0.01"},
		"zeros in front":            {"007.10", "EUR", 710, "7.10"},
		"the largest":               {"1000000000.00", "EUR", 100_000_000_000, "1000000000.00"},
		"yen have no cents":         {"475", "JPY", 475, "475"},
		"dinars have three digits":  {"1.234", "BHD", 1234, "1.234"},
		"dinars with fewer":         {"1.2", "BHD", 1200, "1.200"},
		"a unit with four":          {"1.2345", "CLF", 12345, "1.2345"},
		"a currency nobody listed":  {"3.14", "XYZ", 314, "3.14"},
		"largest yen, by minor":     {"100000000000", "JPY", 100_000_000_000, "100000000000"},
		"largest dinars, by minor":  {"100000000.000", "KWD", 100_000_000_000, "100000000.000"},
		"many zeros in front of it": {sale.Decimal(strings.Repeat("0", 40) + "1"), "JPY", 1, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := sale.ParseMoney("payValue", sale.MoneyInput{Amount: test.amount, CurrencyCode: test.currency})
			if err != nil {
				t.Fatal(err)
			}
			if m.Minor != test.minor || m.Amount() != test.shown || m.CurrencyCode() != test.currency {
				t.Errorf("%s %s is %d minor units, shown as %s", test.amount, test.currency, m.Minor, m.Amount())
			}
		})
	}
}

func TestMoneyFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		amount   sale.Decimal
		currency sale.CurrencyCode
		field    string
	}{
		"empty":                  {"", "CNY", "payValue.amount"},
		"negative":               {"-1.00", "CNY", "payValue.amount"},
		"a plus":                 {"+1.00", "CNY", "payValue.amount"},
		"exponent":               {"1e3", "CNY", "payValue.amount"},
		"comma":                  {"1,00", "CNY", "payValue.amount"},
		"grouped":                {"1 000.00", "CNY", "payValue.amount"},
		"point alone":            {".", "CNY", "payValue.amount"},
		"nothing in front":       {".50", "CNY", "payValue.amount"},
		"nothing behind":         {"1.", "CNY", "payValue.amount"},
		"two points":             {"1.0.0", "CNY", "payValue.amount"},
		"other digits":           {"\u0661", "CNY", "payValue.amount"},
		"third digit":            {"1.000", "CNY", "payValue.amount"},
		"yen with a point":       {"475.0", "JPY", "payValue.amount"},
		"dinars with four":       {"1.2345", "BHD", "payValue.amount"},
		"a cent too much":        {"1000000000.01", "CNY", "payValue.amount"},
		"beyond 64 bits":         {sale.Decimal(strings.Repeat("9", 30)), "CNY", "payValue.amount"},
		"no currency":            {"1.00", "", "payValue.currencyCode"},
		"currency in lower case": {"1.00", "cny", "payValue.currencyCode"},
		"currency too long":      {"1.00", "CNYY", "payValue.currencyCode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sale.ParseMoney("payValue", sale.MoneyInput{Amount: test.amount, CurrencyCode: test.currency})
			var in *sale.InputError
			if !errors.As(err, &in) || len(in.Faults) != 1 || in.Faults[0].Field != test.field || in.Faults[0].Reason == "" {
				t.Errorf("%q %q: got %v, want one fault of %s", test.amount, test.currency, err, test.field)
			}
		})
	}
}

// TestMoneyRoundTrip: what is shown parses to the same amount, to the last digit.
func TestMoneyRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := sale.Money{
			Minor:    rapid.Int64Range(0, 100_000_000_000).Draw(rt, "minor"),
			Currency: rapid.SampledFrom([]sale.CurrencyCode{"CNY", "USD", "JPY", "KRW", "BHD", "TND", "CLF"}).Draw(rt, "currency"),
		}
		got, err := sale.ParseMoney("x", sale.MoneyInput{Amount: m.Amount(), CurrencyCode: m.Currency})
		if err != nil || got != m {
			rt.Fatalf("%d %s is shown as %s and read as %d, %v", m.Minor, m.Currency, m.Amount(), got.Minor, err)
		}
	})
}

func TestDecimalIsTextOnTheWire(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	sale.Decimal("100.00").MarshalGQL(&out)
	if out.String() != `"100.00"` {
		t.Errorf("a decimal is written as %s", out.String())
	}
	var d sale.Decimal
	if err := d.UnmarshalGQL("0.10"); err != nil || d != "0.10" {
		t.Errorf("a text is read as %q, %v", d, err)
	}
	for _, number := range []any{0.1, int64(1), nil, true} {
		if err := d.UnmarshalGQL(number); err == nil {
			t.Errorf("%v (%T) was taken for a decimal", number, number)
		}
	}
}
