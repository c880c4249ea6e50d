package cli

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestDev is a newcomer's first minute: read what is printed, paste it, and see
// what happens.
func TestDev(t *testing.T) {
	t.Parallel()
	dev := start(t, nil, "dev", "--addr", "127.0.0.1:0")
	url := dev.WaitFor(patience, "ready url=")
	a := apiOf(t, url)
	welcome := dev.Output()
	for _, said := range []string{
		"server and worker in one process", "Nothing survives its end", url + "/playground", "open voucher   vch_", "opens in 60 s  vch_",
	} {
		if !strings.Contains(welcome, said) {
			t.Errorf("it does not say %q: %s", said, welcome)
		}
	}
	commands := curls(t, welcome)
	if len(commands) != 2 {
		t.Fatalf("%d requests to paste, want a claim and a subscription: %s", len(commands), welcome)
	}
	status, body := a.do(commands[0].request(t, t.Context()))
	if status != http.StatusOK || !strings.Contains(body, `"status":"PENDING"`) || !strings.Contains(body, `"problem":null`) {
		t.Fatalf("the pasted claim: %d %s", status, body)
	}
	id := regexp.MustCompile(`ord_\w+`).FindString(body)
	hear(t, a, commands[1], id)
	dev.WaitFor(patience, "claimed    "+id+"  by buyer-1")
	dev.WaitFor(patience, "committed  "+id+"  after ")
	if _, body := a.do(commands[0].request(t, t.Context())); !strings.Contains(body, id) {
		t.Errorf("the claim pasted again: %s, want order %s", body, id)
	}
	dev.WaitFor(patience, "by buyer-1 (again)")
	tokensAndVouchers(t, a, welcome)
	if code := dev.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// curl is a command that dev prints.
type curl struct {
	url     string
	headers []string
	body    string
}

// curls finds the commands of a text; a line that ends in a backslash goes on.
func curls(t *testing.T, text string) []curl {
	t.Helper()
	var found []curl
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		if !strings.HasPrefix(strings.TrimSpace(line), "curl ") {
			continue
		}
		c := curl{url: regexp.MustCompile(`http://\S+`).FindString(line)}
		for _, option := range regexp.MustCompile(`-(H|d) '([^']*)'`).FindAllStringSubmatch(line, -1) {
			if option[1] == "d" {
				c.body = option[2]
			} else {
				c.headers = append(c.headers, option[2])
			}
		}
		found = append(found, c)
	}
	return found
}

func (c curl) request(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range c.headers {
		key, value, _ := strings.Cut(header, ": ")
		r.Header.Set(key, value)
	}
	return r
}

// hear reads the pasted subscription until it tells that the order is committed.
func hear(t *testing.T, a *api, c curl, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := a.client.Do(c.request(t, ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("the pasted subscription is answered with %d %s", response.StatusCode, kind)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), id) && strings.Contains(lines.Text(), `"status":"COMMITTED"`) {
			return
		}
	}
	t.Errorf("the stream ended before COMMITTED was heard: %v", lines.Err())
}

// tokensAndVouchers: everything else that is printed is of use too.
func tokensAndVouchers(t *testing.T, a *api, welcome string) {
	t.Helper()
	after := func(label string) string {
		_, rest, _ := strings.Cut(welcome, "\n  "+label+" ")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			t.Fatalf("no %s is printed: %s", label, welcome)
		}
		return fields[0]
	}
	open, soon := after("open voucher"), after("opens in 60 s")
	for _, buyer := range []string{"buyer-2", "buyer-3"} {
		a.committed(after(buyer), a.claimed(after(buyer), open))
	}
	if got := a.claim(after("buyer-2"), soon).Data.ClaimVoucher; got == nil || got.Problem == nil || got.Problem.Code != string(sale.ProblemNotOpen) {
		t.Errorf("the voucher that opens soon: %+v", got)
	}
	if got := a.ask(after("admin"), `mutation { createVoucher(input: {title: "t", total: 1, payValue: {amount: "1", currencyCode: "CNY"},
		actualValue: {amount: "2", currencyCode: "CNY"}, opensAt: "2030-01-01T10:00:00Z", closesAt: "2030-01-02T10:00:00Z"}) { voucher { id } } }`,
		nil); got.code() != "" {
		t.Errorf("the admin's token: %+v", got)
	}
	if status, page := a.get("/playground"); status != http.StatusOK || !strings.Contains(page, open) || !strings.Contains(page, after("buyer-1")) {
		t.Errorf("the playground is %d and is not filled in", status)
	}
	if status, _ := a.get("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz is %d", status)
	}
}
