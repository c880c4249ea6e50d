package graph_test

import (
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// contract is what clients rely on: names and types that may be added to and
// never changed.
const contract = `
scalar DateTime scalar Decimal scalar CurrencyCode
interface Node { id: ID! }
type Money { amount: Decimal! currencyCode: CurrencyCode! }
enum SaleState { SCHEDULED OPEN PAUSED SOLD_OUT CLOSED }
enum OrderStatus { PENDING COMMITTED PAID REDEEMED CANCELLED EXPIRED REFUNDED REJECTED }
type Voucher implements Node {
  id: ID! title: String! subtitle: String rules: [String!]! shopId: ID payValue: Money! actualValue: Money!
  total: Int! remaining: Int! perBuyerLimit: Int! paymentWindowSeconds: Int!
  opensAt: DateTime! closesAt: DateTime! saleState: SaleState!
}
type Order implements Node {
  id: ID! voucher: Voucher! quantity: Int! status: OrderStatus! version: Int!
  claimedAt: DateTime! committedAt: DateTime payBefore: DateTime rejection: OrderRejection
}
type OrderRejection { code: OrderRejectionCode! message: String! }
enum OrderRejectionCode { SOLD_OUT LIMIT_REACHED NOT_FOUND INVALID }
type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
type VoucherConnection { edges: [VoucherEdge!]! nodes: [Voucher!]! pageInfo: PageInfo! }
type VoucherEdge { cursor: String! node: Voucher! }
type OrderConnection { edges: [OrderEdge!]! nodes: [Order!]! pageInfo: PageInfo! }
type OrderEdge { cursor: String! node: Order! }
type Viewer { id: ID! orders(first: Int, after: String, last: Int, before: String): OrderConnection! }
type Query {
  node(id: ID!): Node
  voucher(id: ID!): Voucher
  vouchers(first: Int, after: String, last: Int, before: String, state: SaleState): VoucherConnection!
  order(id: ID!): Order
  viewer: Viewer!
  serverTime: DateTime!
}
type Mutation {
  claimVoucher(input: ClaimVoucherInput!): ClaimVoucherPayload!
  createVoucher(input: CreateVoucherInput!): CreateVoucherPayload!
}
input ClaimVoucherInput { voucherId: ID! quantity: Int! = 1 requestId: ID }
type ClaimVoucherPayload { order: Order replayed: Boolean! problem: ClaimProblem }
interface ClaimProblem { code: ClaimProblemCode! message: String! retryable: Boolean! }
enum ClaimProblemCode { SOLD_OUT NOT_OPEN CLOSED PAUSED LIMIT_REACHED NOT_READY BUSY RATE_LIMITED NOT_FOUND INVALID }
type SaleNotOpen implements ClaimProblem { code: ClaimProblemCode! message: String! retryable: Boolean! opensAt: DateTime! serverTime: DateTime! }
type SaleClosed implements ClaimProblem { code: ClaimProblemCode! message: String! retryable: Boolean! closesAt: DateTime! }
type LimitReached implements ClaimProblem { code: ClaimProblemCode! message: String! retryable: Boolean! order: Order }
type RateLimited implements ClaimProblem { code: ClaimProblemCode! message: String! retryable: Boolean! retryAfterMs: Int! }
input MoneyInput { amount: Decimal! currencyCode: CurrencyCode! }
input CreateVoucherInput {
  title: String! subtitle: String rules: [String!] shopId: ID payValue: MoneyInput! actualValue: MoneyInput!
  total: Int! perBuyerLimit: Int! = 1 paymentWindowSeconds: Int! = 900 opensAt: DateTime! closesAt: DateTime!
}
type CreateVoucherPayload { voucher: Voucher }
type Subscription {
  orderUpdated(id: ID!, afterVersion: Int): Order!
  viewerOrderUpdated: Order!
  voucherUpdated(id: ID!): Voucher!
}`

func TestContractIsKept(t *testing.T) {
	t.Parallel()
	promised, err := gqlparser.LoadSchema(&ast.Source{Name: "contract", Input: contract})
	if err != nil {
		t.Fatal(err)
	}
	got := schemaOf(t)
	for name, want := range own(promised) {
		have := got.Types[name]
		if have == nil || have.Kind != want.Kind {
			t.Errorf("%s %s is gone", want.Kind, name)
			continue
		}
		for _, v := range want.EnumValues {
			if have.EnumValues.ForName(v.Name) == nil {
				t.Errorf("%s.%s is gone", name, v.Name)
			}
		}
		for _, f := range want.Fields {
			sameField(t, name, f, have.Fields.ForName(f.Name))
		}
		if want.Kind == ast.InputObject {
			nothingNewIsNeeded(t, name, want.Fields, have.Fields)
		}
	}
}

func sameField(t *testing.T, of string, want, have *ast.FieldDefinition) {
	t.Helper()
	if have == nil {
		t.Errorf("%s.%s is gone", of, want.Name)
		return
	}
	if have.Type.String() != want.Type.String() || have.DefaultValue.String() != want.DefaultValue.String() {
		t.Errorf("%s.%s is %s = %s, promised %s = %s", of, want.Name, have.Type, have.DefaultValue, want.Type, want.DefaultValue)
	}
	for _, a := range want.Arguments {
		if got := have.Arguments.ForName(a.Name); got == nil || got.Type.String() != a.Type.String() {
			t.Errorf("%s.%s(%s:) is not %s any more", of, want.Name, a.Name, a.Type)
		}
	}
	for _, a := range have.Arguments {
		if want.Arguments.ForName(a.Name) == nil && a.Type.NonNull && a.DefaultValue == nil {
			t.Errorf("%s.%s needs a new argument %s", of, want.Name, a.Name)
		}
	}
}

// nothingNewIsNeeded: an input may only grow by what old clients can leave out.
func nothingNewIsNeeded(t *testing.T, of string, want, have ast.FieldList) {
	t.Helper()
	for _, f := range have {
		if want.ForName(f.Name) == nil && f.Type.NonNull && f.DefaultValue == nil {
			t.Errorf("%s needs a new field %s", of, f.Name)
		}
	}
}
