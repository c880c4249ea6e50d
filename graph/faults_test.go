package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

const createDocument = `mutation ($input: CreateVoucherInput!) { createVoucher(input: $input) { voucher { id } } }`

// draftJSON is a correct input of createVoucher, with one member replaced.
func draftJSON(member, value string) string {
	members := map[string]string{
		"title": `"t"`, "payValue": `{"amount":"100.00","currencyCode":"CNY"}`, "actualValue": `{"amount":"120.00","currencyCode":"CNY"}`,
		"total": "10", "opensAt": `"2030-01-01T10:00:00+08:00"`, "closesAt": `"2030-01-01T12:00:00+08:00"`,
	}
	if member != "" {
		members[member] = value
	}
	parts := make([]string, 0, len(members))
	for k, v := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", k, v))
	}
	return `{"input":{` + strings.Join(parts, ",") + `}}`
}

// TestCodes: each kind of fault has its code, and what is shown of it.
func TestCodes(t *testing.T) {
	t.Parallel()
	const secret = "dial tcp: password hunter2"
	refusing := func(err error) *fakes {
		return &fakes{
			order:         func(string, sale.OrderID) (sale.Order, error) { return sale.Order{}, err },
			createVoucher: func(sale.Draft) (sale.Voucher, error) { return sale.Voucher{}, err },
			time:          func() (time.Time, error) { panic(secret) },
		}
	}
	orderQuery := fmt.Sprintf(`{ order(id: %q) { id } }`, orderID)
	input := &sale.InputError{Faults: []sale.FieldFault{
		{Field: "title", Reason: "must have 1 to 200 characters, not 0"}, {Field: "payValue.amount", Reason: "is too large"},
	}}
	cases := []struct {
		name                string
		who                 caller
		fault               error
		document, variables string
		code, message       string
		fields              [][2]string
		named, logged       bool // the request's ID is shown; the cause is in the log
	}{
		{name: "no token", who: nobody, document: orderQuery, code: "UNAUTHENTICATED", message: sale.ErrUnauthenticated.Message},
		{name: "no token, claim", who: nobody, document: fmt.Sprintf(`mutation { claimVoucher(input: {voucherId: %q}) { replayed } }`, voucherID), code: "UNAUTHENTICATED", message: sale.ErrUnauthenticated.Message},
		{name: "no token, viewer", who: nobody, document: `{ viewer { id } }`, code: "UNAUTHENTICATED", message: sale.ErrUnauthenticated.Message},
		{name: "no token, role", who: nobody, document: createDocument, variables: draftJSON("", ""), code: "UNAUTHENTICATED", message: sale.ErrUnauthenticated.Message},
		{name: "no role", who: ada, document: createDocument, variables: draftJSON("", ""), code: "FORBIDDEN", message: "the token needs the role admin"},
		{name: "another role", who: caller{"x", []sale.Role{sale.RolePayment}}, document: createDocument, variables: draftJSON("", ""), code: "FORBIDDEN", message: "the token needs the role admin"},
		{name: "not there", who: ada, fault: sale.ErrNotFound, document: orderQuery, code: "NOT_FOUND", message: "not found"},
		{name: "bad fields", who: admin, fault: fmt.Errorf("create: %w", input), document: createDocument, variables: draftJSON("", ""), code: "BAD_USER_INPUT", message: "title must have 1 to 200 characters, not 0; payValue.amount is too large", fields: [][2]string{{"title", "must have 1 to 200 characters, not 0"}, {"payValue.amount", "is too large"}}},
		{name: "away", who: ada, fault: sale.Unavailable(errors.New(secret), "the gate"), document: orderQuery, code: "UNAVAILABLE", message: "the gate cannot be reached right now; repeat the same request", named: true, logged: true},
		{name: "too slow", who: ada, fault: fmt.Errorf("read: %w", context.DeadlineExceeded), document: orderQuery, code: "UNAVAILABLE", message: "the request was not finished in time; repeat it", named: true, logged: true},
		{name: "foreign", who: ada, fault: errors.New(secret), document: orderQuery, code: "INTERNAL", message: "internal error; the log has the cause under the request ID", named: true, logged: true},
		{name: "panic", who: nobody, document: `{ serverTime }`, code: "INTERNAL", message: "internal error; the log has the cause under the request ID", named: true, logged: true},
		{name: "validation", who: ada, document: `{ nothing }`, code: "GRAPHQL_VALIDATION_FAILED", message: `Cannot query field "nothing" on type "Query".`},
		{name: "parsing", who: ada, document: `{`, code: "GRAPHQL_PARSE_FAILED", message: "Expected Name, found <EOF>"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, refusing(c.fault))
			a := b.ask(c.who, c.document, c.variables)
			if len(a.Errors) != 1 {
				t.Fatalf("want one error, got %+v", a)
			}
			e := a.Errors[0]
			if e.Extensions.Code != c.code || e.Message != c.message {
				t.Errorf("got %s %q, want %s %q", e.Extensions.Code, e.Message, c.code, c.message)
			}
			var fields [][2]string
			for _, f := range e.Extensions.Fields {
				fields = append(fields, [2]string{f.Field, f.Reason})
			}
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if (e.Extensions.RequestID == "request-7") != c.named {
				t.Errorf("the request's ID is %q", e.Extensions.RequestID)
			}
			log := b.log.String()
			if c.logged != strings.Contains(log, "request_id=request-7") || strings.Contains(fmt.Sprint(a), secret) {
				t.Errorf("shown %+v, logged %q", a, log)
			}
			if c.fault != nil && c.logged && !strings.Contains(log, c.fault.Error()) {
				t.Errorf("the cause is not in the log: %s", log)
			}
		})
	}
}

// TestPanicIsLoggedWithItsStack: the answer says nothing, so the log must.
func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{time: func() (time.Time, error) { panic("hunter2") }})
	b.ask(nobody, `{ serverTime }`, "")
	if log := b.log.String(); !strings.Contains(log, "hunter2") || !strings.Contains(log, "faults_test.go") {
		t.Errorf("the log has no cause or no stack: %s", log)
	}
}

// TestOneFaultDoesNotHideTheRest: a nullable field that fails leaves its
// neighbours.
func TestOneFaultDoesNotHideTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{
		voucher: func(id sale.VoucherID) (sale.Voucher, error) {
			if id == "vch_broken" {
				return sale.Voucher{}, errors.New("broken")
			}
			return sample(), nil
		},
	})
	a := b.ask(nobody, fmt.Sprintf(`{ good: voucher(id: %q) { title } bad: voucher(id: "vch_broken") { title } }`, voucherID), "")
	if string(a.Data) != `{"good":{"title":"120 for 100"},"bad":null}` || a.code(t) != "INTERNAL" || fmt.Sprint(a.Errors[0].Path) != "[bad]" {
		t.Errorf("%s %+v", a.Data, a.Errors)
	}
}
