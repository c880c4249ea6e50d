package sale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a voucher. They keep a voucher displayable and its claim script
// short.
const (
	MaxTotal         = 10_000_000
	MaxPerBuyerLimit = 100 // the claim script walks one buyer's orders
	MaxTitle         = 200 // characters
	MaxRules         = 50
	MaxRule          = 500 // characters
	MaxShopID        = 64  // characters

	MinPaymentWindow = time.Second
	MaxPaymentWindow = 30 * 24 * time.Hour
)

// Draft is a voucher as an operator writes it, in a GraphQL input or in a JSON
// file. [Draft.Voucher] checks it.
type Draft struct {
	Title                string     `json:"title"`
	Subtitle             *string    `json:"subtitle"`
	Rules                []string   `json:"rules"`
	ShopID               *string    `json:"shopId"`
	PayValue             MoneyInput `json:"payValue"`
	ActualValue          MoneyInput `json:"actualValue"`
	Total                int        `json:"total"`
	PerBuyerLimit        int        `json:"perBuyerLimit"`
	PaymentWindowSeconds int        `json:"paymentWindowSeconds"`
	OpensAt              time.Time  `json:"opensAt"`
	ClosesAt             time.Time  `json:"closesAt"`
}

// DecodeDraft reads a draft from JSON. Field names are those of the GraphQL
// input, an unknown one is a fault, and perBuyerLimit (1) and
// paymentWindowSeconds (900) may be left out. The error names the field where
// JSON itself is well formed.
func DecodeDraft(data []byte) (Draft, error) {
	d := Draft{PerBuyerLimit: 1, PaymentWindowSeconds: 900}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return Draft{}, decodeFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Draft{}, inputFault("voucher", "must be one JSON object with nothing behind it")
	}
	return d, nil
}

func decodeFault(err error) error {
	var kind *json.UnmarshalTypeError
	var when *time.ParseError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return inputFault(kind.Field, fmt.Sprintf("must be %s, not a JSON %s", inWords(kind.Type), kind.Value))
	case errors.As(err, &kind):
		return inputFault("voucher", "must be one JSON object, not a JSON "+kind.Value)
	case errors.As(err, &when):
		return timeFault(", not " + when.Value)
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	if field, ok := strings.CutPrefix(reason, "unknown field "); ok {
		return inputFault(strings.Trim(field, `"`), "is not a field of a voucher")
	}
	if strings.HasPrefix(reason, "Time.UnmarshalJSON") { // a number, say; the package gives it no type of its own
		return timeFault(" in quotes")
	}
	return inputFault("voucher", "must be one JSON object: "+reason)
}

func timeFault(more string) error {
	return inputFault("opensAt or closesAt", "must be a time with an offset such as 2030-01-01T10:00:00+08:00"+more)
}

// inWords says what a field wants to somebody who writes JSON and no Go.
func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list in brackets"
	case reflect.Struct:
		return "an object in braces"
	default:
		return "a text in quotes"
	}
}

// Voucher checks the draft and makes the voucher it describes. The error is an
// [InputError] that lists every fault.
func (d Draft) Voucher(id VoucherID) (Voucher, error) {
	var c checker
	c.text("title", d.Title, 1, MaxTitle)
	c.optionalText("subtitle", d.Subtitle, MaxTitle)
	c.optionalText("shopId", d.ShopID, MaxShopID)
	c.that(len(d.Rules) <= MaxRules, "rules", fmt.Sprintf("must have at most %d lines", MaxRules))
	for i, rule := range d.Rules {
		c.text(fmt.Sprintf("rules[%d]", i), rule, 1, MaxRule)
	}
	pay := c.money("payValue", d.PayValue)
	actual := c.money("actualValue", d.ActualValue)
	c.between("total", d.Total, 1, MaxTotal)
	c.between("perBuyerLimit", d.PerBuyerLimit, 1, MaxPerBuyerLimit)
	c.between("paymentWindowSeconds", d.PaymentWindowSeconds,
		int(MinPaymentWindow/time.Second), int(MaxPaymentWindow/time.Second))
	c.that(plausible(d.OpensAt), "opensAt", "must be a time between the years 2000 and 9999")
	c.that(plausible(d.ClosesAt), "closesAt", "must be a time between the years 2000 and 9999")
	c.that(Timestamp(d.OpensAt).Before(Timestamp(d.ClosesAt)), "closesAt", "must be later than opensAt")
	if len(c.faults) > 0 {
		return Voucher{}, &InputError{Faults: c.faults}
	}
	return Voucher{
		ID: id, Title: d.Title, Subtitle: d.Subtitle, Rules: append([]string{}, d.Rules...), ShopID: d.ShopID,
		PayValue: pay, ActualValue: actual, Total: d.Total, PerBuyerLimit: d.PerBuyerLimit,
		PaymentWindow: time.Duration(d.PaymentWindowSeconds) * time.Second,
		OpensAt:       Timestamp(d.OpensAt), ClosesAt: Timestamp(d.ClosesAt), Epoch: 1,
	}, nil
}

func plausible(t time.Time) bool { y := t.UTC().Year(); return 2000 <= y && y <= 9999 }

// checker collects the faults of an input.
type checker struct{ faults []FieldFault }

func (c *checker) that(ok bool, field, reason string) {
	if !ok {
		c.faults = append(c.faults, FieldFault{Field: field, Reason: reason})
	}
}

func (c *checker) between(field string, n, low, high int) {
	c.that(low <= n && n <= high, field, fmt.Sprintf("must be from %d to %d, not %d", low, high, n))
}

func (c *checker) text(field, s string, low, high int) {
	n := utf8.RuneCountInString(s)
	c.that(low <= n && n <= high, field, fmt.Sprintf("must have %d to %d characters, not %d", low, high, n))
	c.that(Printable(s), field, "must be valid UTF-8 without control characters")
}

func (c *checker) optionalText(field string, s *string, high int) {
	if s != nil {
		c.text(field, *s, 0, high)
	}
}

func (c *checker) money(field string, in MoneyInput) Money {
	m, err := ParseMoney(field, in)
	var in2 *InputError
	if errors.As(err, &in2) {
		c.faults = append(c.faults, in2.Faults...)
	}
	return m
}

// Printable tells whether a text is valid UTF-8 without control characters.
// PostgreSQL refuses a NUL byte and invalid UTF-8, and such a text in a stream
// would poison a whole batch of orders.
func Printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}
