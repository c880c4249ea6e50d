package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/complexity"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestNode: any node by its ID; what the caller may not see is null, like what
// is not there, and nothing is asked for what cannot be an ID.
func TestNode(t *testing.T) {
	t.Parallel()
	foreign, missing := sale.NewOrderID(3, noon), sale.NewVoucherID(3, noon)
	b := setup(t, &fakes{
		voucher: func(id sale.VoucherID) (sale.Voucher, error) {
			if id == missing {
				return sale.Voucher{}, sale.ErrNotFound
			}
			return sample(), nil
		},
		order: func(buyer string, id sale.OrderID) (sale.Order, error) {
			if id != orderID || buyer != "ada" {
				return sale.Order{}, sale.ErrNotFound
			}
			return pending(), nil
		},
	})
	const none = `{"node":null}`
	voucher := fmt.Sprintf(`{"node":{"__typename":"Voucher","id":%q,"title":"120 for 100"}}`, voucherID)
	order := fmt.Sprintf(`{"node":{"__typename":"Order","id":%q,"status":"PENDING"}}`, orderID)
	cases := []struct {
		who  caller
		id   string
		want string
	}{
		{nobody, string(voucherID), voucher},
		{ada, string(voucherID), voucher},
		{nobody, string(missing), none},
		{ada, string(orderID), order},
		{nobody, string(orderID), none},
		{caller{buyer: "bob"}, string(orderID), none},
		{ada, string(foreign), none},
		{ada, "", none},
		{ada, "1", none},
		{ada, "ord_", none},
		{ada, "xyz_" + strings.Repeat("0", 28), none},
		{ada, string(orderID) + "0", none},
		{ada, strings.ToUpper(string(orderID)), none},
	}
	for _, c := range cases {
		a := b.ask(c.who, `query ($id: ID!) { node(id: $id) { __typename id ... on Voucher { title } ... on Order { status } } }`,
			fmt.Sprintf(`{"id":%q}`, c.id))
		if diff := cmp.Diff(c.want, string(a.Data)); diff != "" || len(a.Errors) > 0 {
			t.Errorf("%q asks for %q: errors %+v (-want +got):\n%s", c.who.buyer, c.id, a.Errors, diff)
		}
	}
}

// TestNodeTellsFaults: a database that is away is no missing node.
func TestNodeTellsFaults(t *testing.T) {
	t.Parallel()
	away := sale.Unavailable(errors.New("refused"), "the database")
	b := setup(t, &fakes{
		voucher: func(sale.VoucherID) (sale.Voucher, error) { return sale.Voucher{}, away },
		order:   func(string, sale.OrderID) (sale.Order, error) { return sale.Order{}, away },
	})
	for _, id := range []string{string(voucherID), string(orderID)} {
		a := b.ask(ada, `query ($id: ID!) { node(id: $id) { id } }`, fmt.Sprintf(`{"id":%q}`, id))
		if a.code(t) != "UNAVAILABLE" || string(a.Data) != `{"node":null}` {
			t.Errorf("%s: %s %+v", id, a.Data, a.Errors)
		}
	}
}

// TestVoucherIsNullWhenThereIsNone, and an order is an error: its caller was
// given the ID.
func TestVoucherIsNullWhenThereIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{voucher: func(sale.VoucherID) (sale.Voucher, error) { return sale.Voucher{}, sale.ErrNotFound }})
	a := b.ask(nobody, `{ voucher(id: "nothing") { id } }`, "")
	if string(a.Data) != `{"voucher":null}` || len(a.Errors) > 0 {
		t.Errorf("%s %+v", a.Data, a.Errors)
	}
}

// TestPagesGoInward: the arguments of both lists arrive as they were sent.
func TestPagesGoInward(t *testing.T) {
	t.Parallel()
	open := sale.StateOpen
	cases := map[string]struct {
		page  sale.Page
		state *sale.State
	}{
		``:                          {},
		`(first: 5)`:                {page: sale.Page{First: 5}},
		`(first: 5, after: "a")`:    {page: sale.Page{First: 5, After: "a"}},
		`(last: 6, before: "b")`:    {page: sale.Page{Last: 6, Before: "b"}},
		`(first: null, last: 7)`:    {page: sale.Page{Last: 7}},
		`(first: 1000, last: -1)`:   {page: sale.Page{First: 1000, Last: -1}}, // judged inside
		`(first: 1, state: OPEN)`:   {page: sale.Page{First: 1}, state: &open},
		`(after: "a", before: "b")`: {page: sale.Page{After: "a", Before: "b"}},
	}
	for arguments, c := range cases {
		var page sale.Page
		var state *sale.State
		b := setup(t, &fakes{
			vouchers: func(s *sale.State, p sale.Page) (sale.Slice[sale.Voucher], error) {
				page, state = p, s
				return sale.Slice[sale.Voucher]{}, nil
			},
			ordersOf: func(buyer string, p sale.Page) (sale.Slice[sale.Order], error) {
				if page = p; buyer != "ada" {
					t.Errorf("the orders of %s are asked for", buyer)
				}
				return sale.Slice[sale.Order]{}, nil
			},
		})
		a := b.ask(nobody, `{ vouchers`+arguments+` { nodes { id } } }`, "")
		if cmp.Diff(c.page, page) != "" || cmp.Diff(c.state, state) != "" || len(a.Errors) > 0 {
			t.Errorf("vouchers%s asks for %+v %v: %+v", arguments, page, state, a.Errors)
		}
		if c.state != nil {
			continue
		}
		page = sale.Page{}
		a = b.ask(ada, `{ viewer { id orders`+arguments+` { nodes { id } } } }`, "")
		if cmp.Diff(c.page, page) != "" || len(a.Errors) > 0 {
			t.Errorf("orders%s asks for %+v: %+v", arguments, page, a.Errors)
		}
	}
}

// TestPagesComeOut: nodes, edges and cursors of a page that lies in the middle,
// and of an empty one.
func TestPagesComeOut(t *testing.T) {
	t.Parallel()
	second := sample()
	second.ID = sale.NewVoucherID(4, noon)
	older := pending()
	older.ID = sale.NewOrderID(4, noon)
	full := &fakes{
		vouchers: func(*sale.State, sale.Page) (sale.Slice[sale.Voucher], error) {
			return sale.Slice[sale.Voucher]{Items: []sale.Voucher{sample(), second}, Cursors: []string{"c1", "c2"}, HasNext: true}, nil
		},
		ordersOf: func(string, sale.Page) (sale.Slice[sale.Order], error) {
			return sale.Slice[sale.Order]{Items: []sale.Order{pending(), older}, Cursors: []string{"c1", "c2"}, HasPrevious: true}, nil
		},
	}
	const page = `{ nodes { id } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`
	shape := func(a, b string, next, previous bool) string {
		return fmt.Sprintf(`{"nodes":[{"id":%q},{"id":%q}],"edges":[{"cursor":"c1","node":{"id":%q}},{"cursor":"c2","node":{"id":%q}}],`+
			`"pageInfo":{"hasNextPage":%t,"hasPreviousPage":%t,"startCursor":"c1","endCursor":"c2"}}`, a, b, a, b, next, previous)
	}
	const empty = `{"nodes":[],"edges":[],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false,"startCursor":null,"endCursor":null}}`
	nothing := &fakes{
		vouchers: func(*sale.State, sale.Page) (sale.Slice[sale.Voucher], error) { return sale.Slice[sale.Voucher]{}, nil },
		ordersOf: func(string, sale.Page) (sale.Slice[sale.Order], error) { return sale.Slice[sale.Order]{}, nil },
	}
	for _, c := range []struct {
		f                *fakes
		vouchers, orders string
	}{
		{full, shape(string(voucherID), string(second.ID), true, false), shape(string(orderID), string(older.ID), false, true)},
		{nothing, empty, empty},
	} {
		a := setup(t, c.f).ask(ada, `{ vouchers `+page+` viewer { id orders `+page+` } }`, "")
		want := `{"vouchers":` + c.vouchers + `,"viewer":{"id":"ada","orders":` + c.orders + `}}`
		if diff := cmp.Diff(want, string(a.Data)); diff != "" || len(a.Errors) > 0 {
			t.Errorf("errors %+v (-want +got):\n%s", a.Errors, diff)
		}
	}
}

// TestPageFaults: what the archive says about a page reaches the client with its
// field.
func TestPageFaults(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{
		vouchers: func(_ *sale.State, p sale.Page) (s sale.Slice[sale.Voucher], err error) {
			_, err = p.Window()
			return s, err
		},
		ordersOf: func(_ string, p sale.Page) (s sale.Slice[sale.Order], err error) { _, err = p.Window(); return s, err },
	})
	for arguments, field := range map[string]string{
		`(first: 101)`: "first", `(first: -1)`: "first", `(last: 101)`: "last", `(first: 1, last: 1)`: "last", `(after: "zzz")`: "after",
	} {
		for _, document := range []string{`{ vouchers` + arguments + ` { nodes { id } } }`, `{ viewer { orders` + arguments + ` { nodes { id } } } }`} {
			a := b.ask(ada, document, "")
			if a.code(t) != "BAD_USER_INPUT" || len(a.Errors[0].Extensions.Fields) == 0 || a.Errors[0].Extensions.Fields[0].Field != field {
				t.Errorf("%s: %+v, want a fault of %s", document, a.Errors, field)
			}
		}
	}
}

// complexityLimit is what the server allows when it is not told otherwise.
const complexityLimit = 500

// TestWeights: what a shop's page needs is allowed, and pages of pages are not.
func TestWeights(t *testing.T) {
	t.Parallel()
	const ten = `{ id title subtitle total remaining saleState opensAt closesAt perBuyerLimit payValue { amount currencyCode } }`
	s := schema(&fakes{})
	cases := map[string]bool{ // document: allowed
		`{ vouchers(first: 100) { nodes ` + ten + ` pageInfo { hasNextPage endCursor } } serverTime }`:               true,
		`query ($n: Int) { vouchers(first: $n) { edges { cursor node ` + ten + ` } } }`:                              true,
		`{ viewer { id orders(last: 100) { nodes { id status version quantity claimedAt committedAt } } } }`:         true,
		`{ viewer { id orders(first: 20) { nodes { id status version voucher ` + ten + ` } } } }`:                    true,
		`{ viewer { orders(first: 100) { nodes { voucher ` + ten + ` } edges { node { voucher ` + ten + ` } } } } }`: true,
		`{ ` + aliased("vouchers(first: 100) { nodes "+ten+" }", 5) + ` }`:                                           false,
		`query ($n: Int) { ` + aliased("vouchers(first: $n) { nodes "+ten+" }", 5) + ` }`:                            false,
		`{ ` + aliased("viewer { orders(first: 100) { nodes { voucher "+ten+" } } }", 5) + ` }`:                      false,
	}
	for document, allowed := range cases {
		doc, err := gqlparser.LoadQueryWithRules(s.Schema(), document, rules.NewDefaultRules())
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		weight := complexity.Calculate(t.Context(), s, doc.Operations[0], map[string]any{"n": int64(100)})
		if (weight <= complexityLimit) != allowed {
			t.Errorf("%s weighs %d, the limit is %d, allowed should be %t", document, weight, complexityLimit, allowed)
		}
	}
}

// TestWeightGrowsWithThePage: asking for more weighs more, and a page without a
// number weighs as its default does.
func TestWeightGrowsWithThePage(t *testing.T) {
	t.Parallel()
	s := schema(&fakes{})
	weigh := func(arguments string) int {
		doc, err := gqlparser.LoadQueryWithRules(s.Schema(), `{ vouchers`+arguments+` { nodes { id title total remaining } } }`, rules.NewDefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		return complexity.Calculate(t.Context(), s, doc.Operations[0], nil)
	}
	if weigh("(first: 100)") <= weigh("(first: 50)") || weigh("(last: 100)") != weigh("(first: 100)") || weigh("") != weigh("(first: 20)") {
		t.Errorf("first: 100 weighs %d, first: 50 %d, last: 100 %d, none %d, first: 20 %d",
			weigh("(first: 100)"), weigh("(first: 50)"), weigh("(last: 100)"), weigh(""), weigh("(first: 20)"))
	}
}

func aliased(field string, times int) string {
	parts := make([]string, times)
	for i := range parts {
		parts[i] = fmt.Sprintf("a%d: %s", i, field)
	}
	return strings.Join(parts, " ")
}
