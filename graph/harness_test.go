package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"github.com/flashclaim/flashclaim/graph"
	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// noon is when everything in these tests happens.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 123_000_000, time.UTC)

var (
	voucherID = sale.NewVoucherID(3, noon)
	orderID   = sale.NewOrderID(3, noon)
)

// fakes stand behind the counter. A method that the test did not set panics, so
// a call that was not meant to happen is seen.
type fakes struct {
	claim         func(sale.Claim) (sale.ClaimResult, error)
	order         func(buyer string, id sale.OrderID) (sale.Order, error)
	ordersOf      func(buyer string, p sale.Page) (sale.Slice[sale.Order], error)
	createVoucher func(sale.Draft) (sale.Voucher, error)
	voucher       func(sale.VoucherID) (sale.Voucher, error)
	vouchers      func(*sale.State, sale.Page) (sale.Slice[sale.Voucher], error)
	time          func() (time.Time, error)
	watchOrder    func(buyer string, id sale.OrderID, after int) (<-chan *sale.Order, error)
	watchBuyer    func(buyer string) (<-chan *sale.Order, error)
	watchVoucher  func(sale.VoucherID) (<-chan *sale.Voucher, error)
}

func (f *fakes) Claim(_ context.Context, c sale.Claim) (sale.ClaimResult, error) { return f.claim(c) }

func (f *fakes) Order(_ context.Context, buyer string, id sale.OrderID) (sale.Order, error) {
	return f.order(buyer, id)
}

func (f *fakes) OrdersOf(_ context.Context, buyer string, p sale.Page) (sale.Slice[sale.Order], error) {
	return f.ordersOf(buyer, p)
}

func (f *fakes) CreateVoucher(_ context.Context, d sale.Draft) (sale.Voucher, error) {
	return f.createVoucher(d)
}

func (f *fakes) Voucher(_ context.Context, id sale.VoucherID) (sale.Voucher, error) {
	return f.voucher(id)
}

func (f *fakes) Vouchers(_ context.Context, s *sale.State, p sale.Page) (sale.Slice[sale.Voucher], error) {
	return f.vouchers(s, p)
}

func (f *fakes) VoucherOf(_ context.Context, o sale.Order) (sale.Voucher, error) {
	return f.voucher(o.VoucherID)
}

func (f *fakes) LiveOf(_ context.Context, v sale.Voucher) (sale.Live, error) {
	return v.LiveAt(noon, v.Total-v.Sold), nil
}

func (f *fakes) Time(context.Context) (time.Time, error) { return f.time() }

func (f *fakes) WatchOrder(_ context.Context, buyer string, id sale.OrderID, after int) (<-chan *sale.Order, error) {
	return f.watchOrder(buyer, id, after)
}

func (f *fakes) WatchBuyer(_ context.Context, buyer string) (<-chan *sale.Order, error) {
	return f.watchBuyer(buyer)
}

func (f *fakes) WatchVoucher(_ context.Context, id sale.VoucherID) (<-chan *sale.Voucher, error) {
	return f.watchVoucher(id)
}

// bundle is the real schema over the fakes, with everything that turns a fault
// into an answer.
type bundle struct {
	t       *testing.T
	handler *handler.Server
	log     *bytes.Buffer
}

func setup(t *testing.T, f *fakes) *bundle {
	t.Helper()
	b := &bundle{t: t, log: &bytes.Buffer{}}
	log := slog.New(reqid.Handler(slog.NewTextHandler(b.log, nil)))
	b.handler = handler.New(schema(f))
	b.handler.AddTransport(transport.SSE{})
	b.handler.AddTransport(transport.POST{})
	b.handler.SetErrorPresenter(graph.Presenter(log))
	b.handler.SetRecoverFunc(graph.Recover(log))
	return b
}

func schema(f *fakes) graphql.ExecutableSchema {
	return graph.NewSchema(graph.Ports{Orders: f, Vouchers: f, Facts: f, Watch: f})
}

// caller says who asks; the zero value is anonymous.
type caller struct {
	buyer string
	roles []sale.Role
}

var (
	nobody = caller{}
	ada    = caller{buyer: "ada"}
	admin  = caller{buyer: "ops", roles: []sale.Role{sale.RoleAdmin}}
)

// answer is what a client gets.
type answer struct {
	Data   json.RawMessage
	Errors []fault
}

type fault struct {
	Message    string
	Path       []any
	Extensions struct {
		Code      string
		RequestID string `json:"requestId"`
		Fields    []struct{ Field, Reason string }
	}
}

// ask sends a document with its variables, given as JSON, "" for none.
func (b *bundle) ask(who caller, document, variables string) answer {
	b.t.Helper()
	raw := b.send(who, "application/json", document, variables)
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		b.t.Fatalf("%s is answered with %s: %v", document, raw, err)
	}
	return a
}

// hear sends a subscription and gives what comes until the stream ends.
func (b *bundle) hear(who caller, document string) []answer {
	b.t.Helper()
	var all []answer
	for line := range strings.Lines(string(b.send(who, "text/event-stream", document, ""))) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			var a answer
			if err := json.Unmarshal([]byte(data), &a); err != nil {
				b.t.Fatalf("%s: %v", line, err)
			}
			all = append(all, a)
		}
	}
	return all
}

func (b *bundle) send(who caller, accept, document, variables string) []byte {
	b.t.Helper()
	if variables == "" {
		variables = "null"
	}
	body, err := json.Marshal(map[string]any{"query": document, "variables": json.RawMessage(variables)})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx := reqid.With(b.t.Context(), "request-7")
	if who.buyer != "" {
		ctx = sale.WithViewer(ctx, sale.Viewer{BuyerID: who.buyer, Roles: who.roles})
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// code is the only error's code; "" when there is no error.
func (a answer) code(t *testing.T) string {
	t.Helper()
	codes := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		codes[i] = e.Extensions.Code
	}
	if slices.Sort(codes); len(slices.Compact(codes)) > 1 {
		t.Errorf("one request has several codes: %v", codes)
	}
	if len(codes) == 0 {
		return ""
	}
	return codes[0]
}

// sample is a voucher that is on sale at noon.
func sample() sale.Voucher {
	subtitle, shop := "Monday to Friday", "1"
	return sale.Voucher{
		ID: voucherID, Title: "120 for 100", Subtitle: &subtitle, ShopID: &shop, Rules: []string{"Eat-in only"},
		PayValue: sale.Money{Minor: 10000, Currency: "CNY"}, ActualValue: sale.Money{Minor: 12000, Currency: "CNY"},
		Total: 100, PerBuyerLimit: 2, PaymentWindow: 900 * time.Second, Epoch: 1, Sold: 40,
		OpensAt: noon.Add(-time.Hour), ClosesAt: noon.Add(time.Hour),
	}
}

// pending is ada's order as the gate promised it.
func pending() sale.Order {
	until := noon.Add(15 * time.Minute)
	return sale.Order{
		ID: orderID, VoucherID: voucherID, BuyerID: "ada", Quantity: 1, Status: sale.StatusPending, Version: 1,
		ClaimedAt: noon, PayBefore: &until,
	}
}
