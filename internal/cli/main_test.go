package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
	"github.com/flashclaim/flashclaim/server"
)

const (
	secret   = "a secret for tests only, 32 bytes or more"
	name     = "flashclaim"
	patience = time.Minute // for what a busy machine may take long to do
)

// TestMain runs the tests, or flashclaim itself when the binary is called by
// that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == name {
		ctx, stop := Signals()
		code := Main(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	testenv.Main(m)
}

// programPath makes the test's binary callable as flashclaim and gives its path.
func programPath(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// start starts a command in a process of its own.
func start(tb testing.TB, env []string, args ...string) *testenv.Program {
	tb.Helper()
	return testenv.Run(tb, programPath(tb), env, args...)
}

// fails runs a command to its end and checks that it fails as a person can use:
// with the code, and one sentence as its last line.
func fails(tb testing.TB, env []string, code int, sentence string, args ...string) {
	tb.Helper()
	p := start(tb, env, args...)
	if got := p.Wait(patience); got != code {
		tb.Errorf("%v ended with %d, want %d", args, got, code)
	}
	lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "flashclaim: ") || !strings.Contains(last, sentence) {
		tb.Errorf("%v says %q, want %q", args, last, sentence)
	}
	if strings.Contains(p.Output(), "goroutine ") || strings.Contains(p.Output(), "panic") {
		tb.Errorf("%v dumps its inside: %s", args, p.Output())
	}
}

// settings is an environment that names the two places.
func settings(redisURL, databaseURL string, more ...string) []string {
	return append([]string{
		"FLASHCLAIM_REDIS_URL=" + redisURL, "FLASHCLAIM_DATABASE_URL=" + databaseURL, "FLASHCLAIM_JWT_SECRET=" + secret,
		"FLASHCLAIM_ADDR=127.0.0.1:0",
	}, more...)
}

// durableRedis is set up as the default durability wants it.
func durableRedis(tb testing.TB, more ...string) *testenv.RedisServer {
	tb.Helper()
	return testenv.Redis(tb, append([]string{"--appendonly", "yes", "--appendfsync", "everysec"}, more...)...)
}

func migrate(tb testing.TB, env []string) {
	tb.Helper()
	if p := start(tb, env, "migrate", "up"); p.Wait(patience) != 0 {
		tb.Fatalf("migrate up: %s", p.Output())
	}
}

func token(tb testing.TB, buyer string, roles ...sale.Role) string {
	tb.Helper()
	v, err := server.NewVerifier([]byte(secret))
	if err != nil {
		tb.Fatal(err)
	}
	t, err := v.Sign(buyer, roles, time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// api speaks to a running server.
type api struct {
	tb     testing.TB
	url    string
	client *http.Client
}

func apiOf(tb testing.TB, url string) *api {
	tb.Helper()
	t := &http.Transport{}
	tb.Cleanup(t.CloseIdleConnections)
	return &api{tb: tb, url: url, client: &http.Client{Transport: t, Timeout: patience}}
}

// get gives a path's status and body.
func (a *api) get(path string) (int, string) {
	a.tb.Helper()
	r, err := http.NewRequestWithContext(a.tb.Context(), http.MethodGet, a.url+path, http.NoBody)
	if err != nil {
		a.tb.Fatal(err)
	}
	return a.do(r)
}

func (a *api) do(r *http.Request) (int, string) {
	a.tb.Helper()
	response, err := a.client.Do(r)
	if err != nil {
		a.tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.tb.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// answer is what a document gives. Only the members that these tests read.
type answer struct {
	Data struct {
		ClaimVoucher *struct {
			Order    *order
			Replayed bool
			Problem  *struct{ Code string }
		}
		CreateVoucher *struct{ Voucher struct{ ID string } }
		Order         *order
	}
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

type order struct{ ID, Status string }

// ask sends a document with variables as name, value, name, value ...
func (a *api) ask(token, document string, variables map[string]any) (got answer) {
	a.tb.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		a.tb.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.tb.Context(), http.MethodPost, a.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		a.tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	_, text := a.do(r)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		a.tb.Fatalf("%s is answered with %s: %v", document, text, err)
	}
	return got
}

// code is the first error's code, or "".
func (a answer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Extensions.Code
}

func (a *api) claim(token, voucher string) answer {
	a.tb.Helper()
	return a.ask(token, `mutation ($id: ID!) { claimVoucher(input: {voucherId: $id}) { order { id status } replayed problem { code } } }`,
		map[string]any{"id": voucher})
}

// claimed claims a voucher and gives the order's ID.
func (a *api) claimed(token, voucher string) string {
	a.tb.Helper()
	got := a.claim(token, voucher)
	if got.Data.ClaimVoucher == nil || got.Data.ClaimVoucher.Order == nil {
		a.tb.Fatalf("claim: %+v", got)
	}
	return got.Data.ClaimVoucher.Order.ID
}

// committed waits until the order is written down.
func (a *api) committed(token, id string) {
	a.tb.Helper()
	testenv.Eventually(a.tb, patience, "order "+id+" is COMMITTED", func() bool {
		got := a.ask(token, `query ($id: ID!) { order(id: $id) { id status } }`, map[string]any{"id": id})
		return got.Data.Order != nil && got.Data.Order.Status == "COMMITTED"
	})
}

// sell creates a voucher that is on sale.
func (a *api) sell() string {
	a.tb.Helper()
	money := map[string]string{"amount": "100.00", "currencyCode": "CNY"}
	now := time.Now().UTC()
	got := a.ask(token(a.tb, "ops", sale.RoleAdmin), `mutation ($v: CreateVoucherInput!) { createVoucher(input: $v) { voucher { id } } }`,
		map[string]any{"v": map[string]any{
			"title": "120 for 100", "payValue": money, "actualValue": money, "total": 100,
			"opensAt": now.Add(-time.Hour), "closesAt": now.Add(time.Hour),
		}})
	if got.Data.CreateVoucher == nil {
		a.tb.Fatalf("createVoucher: %+v", got)
	}
	return got.Data.CreateVoucher.Voucher.ID
}
