package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is a closed loop of connections that send requests as fast as they are
// answered, each claim by a buyer of its own.
type load struct {
	url         string
	connections int
	client      *http.Client
	buyers      atomic.Int64
	accepted    atomic.Int64
	failed      atomic.Int64
	fault       atomic.Pointer[string]
	sign        func(buyer string) string
}

func newLoad(b *testing.B, url string, connections int) *load {
	b.Helper()
	return &load{url: url + "/graphql", connections: connections, client: pool(b, connections), sign: func(buyer string) string {
		return token(b, buyer)
	}}
}

func (l *load) firstFault() string {
	if f := l.fault.Load(); f != nil {
		return *f
	}
	return ""
}

type rate struct {
	answered float64
	rate     float64 // answered a second
	p50, p99 time.Duration
}

// run sends for the given time. Tokens are made before the clock starts, so that
// signing is no part of the figure; verifying them is.
func (l *load) run(b *testing.B, lasting time.Duration, body func(i int) []byte) rate {
	b.Helper()
	tokens := make(chan string, 250_000)
	for range min(cap(tokens), int(lasting.Seconds()*20_000)) {
		tokens <- l.sign(fmt.Sprintf("buyer-%d", l.buyers.Add(1)))
	}
	payload := body(0)
	took := make([][]time.Duration, l.connections)
	var done sync.WaitGroup
	stop := time.Now().Add(lasting)
	began := time.Now()
	for i := range l.connections {
		done.Go(func() {
			for time.Now().Before(stop) {
				start := time.Now()
				if l.send(b.Context(), <-tokens, payload) {
					took[i] = append(took[i], time.Since(start))
				}
			}
		})
	}
	done.Wait()
	elapsed := time.Since(began)
	all := slices.Concat(took...)
	slices.Sort(all)
	return rate{answered: float64(len(all)), rate: float64(len(all)) / elapsed.Seconds(), p50: quantile(all, 50), p99: quantile(all, 99)}
}

func (l *load) send(ctx context.Context, token string, payload []byte) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(payload))
	if err != nil {
		return l.fail(err.Error())
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := l.client.Do(r)
	if err != nil {
		return l.fail(err.Error())
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || bytes.Contains(answer, []byte(`"errors"`)) {
		return l.fail(string(answer))
	}
	if bytes.Contains(answer, []byte(`"PENDING"`)) {
		l.accepted.Add(1)
	}
	return true
}

func (l *load) fail(why string) bool {
	l.failed.Add(1)
	l.fault.CompareAndSwap(nil, &why)
	return false
}

func requestBody(tb testing.TB, query string, variables map[string]any) []byte {
	tb.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}
