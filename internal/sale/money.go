package sale

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Decimal is an exact decimal number as text, such as "100.00". It is a string
// on every wire: a JSON number would pass through binary floating point.
type Decimal string

// MarshalGQL writes the decimal as a JSON string.
func (d Decimal) MarshalGQL(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(string(d))) }

// UnmarshalGQL accepts a string only; a number has already lost its exactness
// when it arrives.
func (d *Decimal) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a Decimal is a string such as \"100.00\", not a number")
	}
	*d = Decimal(s)
	return nil
}

// CurrencyCode is an ISO 4217 code of three capital letters, such as "CNY".
type CurrencyCode string

// MoneyInput is an amount as a client writes it: a decimal and a currency.
type MoneyInput struct {
	Amount       Decimal      `json:"amount"`
	CurrencyCode CurrencyCode `json:"currencyCode"`
}

// Money is an exact amount: a whole number of the currency's minor unit (cents
// for USD, yen for JPY), so that it can be compared and added without rounding.
type Money struct {
	Minor    int64
	Currency CurrencyCode
}

// maxMinor bounds an amount so that the sum of a whole sale (2^31 units) still
// fits 64 bits with room to spare.
const maxMinor = int64(1_000_000_000_00)

// minorDigits lists the currencies of ISO 4217 (list one, 2024) whose minor unit
// is not a hundredth.
var minorDigits = map[CurrencyCode]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0,
	"PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

func (c CurrencyCode) digits() int {
	if n, ok := minorDigits[c]; ok {
		return n
	}
	return 2
}

func (c CurrencyCode) wellFormed() bool {
	if len(c) != 3 {
		return false
	}
	for i := range 3 {
		if c[i] < 'A' || c[i] > 'Z' {
			return false
		}
	}
	return true
}

// Amount is the exact decimal, with the currency's own number of digits behind
// the point.
func (m Money) Amount() Decimal {
	digits := m.Currency.digits()
	if digits == 0 {
		return Decimal(strconv.FormatInt(m.Minor, 10))
	}
	scale := int64(math.Pow10(digits))
	return Decimal(fmt.Sprintf("%d.%0*d", m.Minor/scale, digits, m.Minor%scale))
}

// CurrencyCode is the currency of the amount.
func (m Money) CurrencyCode() CurrencyCode { return m.Currency }

// ParseMoney turns an amount as written into an exact one. The amount is not
// negative, at most 1,000,000,000.00 in units of a hundredth, and has no more
// digits behind the point than the currency. The error is an [InputError] whose
// fields start with the given name.
func ParseMoney(field string, in MoneyInput) (Money, error) {
	if !in.CurrencyCode.wellFormed() {
		return Money{}, inputFault(field+".currencyCode", "must be three capital letters such as CNY")
	}
	whole, fraction, hasPoint := strings.Cut(string(in.Amount), ".")
	digits := in.CurrencyCode.digits()
	if !allDigits(whole) || (hasPoint && !allDigits(fraction)) {
		return Money{}, inputFault(field+".amount", `must be a decimal such as "100.00"`)
	}
	if len(fraction) > digits {
		return Money{}, inputFault(field+".amount",
			fmt.Sprintf("has %d digits behind the point; %s has %d", len(fraction), in.CurrencyCode, digits))
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil || minor > maxMinor {
		return Money{}, inputFault(field+".amount", "is too large")
	}
	return Money{Minor: minor, Currency: in.CurrencyCode}, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func inputFault(field, reason string) *InputError {
	return &InputError{Faults: []FieldFault{{Field: field, Reason: reason}}}
}
