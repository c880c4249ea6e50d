package server_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

// BenchmarkSocketMemory opens b.N sockets with a token and one subscription
// each and tells what one costs while it waits. The clients share the process
// and are bare TCP connections, below 1 KiB each. Run it with a fixed number:
//
//	go test -run '^$' -bench SocketMemory -benchtime 1000x ./server
func BenchmarkSocketMemory(b *testing.B) {
	verifier, err := server.NewVerifier(secret)
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(server.Options{
		Addr: "127.0.0.1:0", Verifier: verifier, Schema: testschema.New(&testschema.Root{}), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(b.Context()) }()
	b.Cleanup(func() { // b's context ends first
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	<-s.Ready()
	token, err := verifier.Sign("ada", nil, time.Hour)
	if err != nil {
		b.Fatal(err)
	}

	before, goroutines := memory(), runtime.NumGoroutine()
	clients := make([]net.Conn, b.N)
	for i := range clients {
		clients[i] = bareClient(b, strings.TrimPrefix(s.URL(), "http://"), token)
	}
	after := memory()
	b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/float64(b.N), "heapB/socket")
	b.ReportMetric(float64(after.StackInuse-before.StackInuse)/float64(b.N), "stackB/socket")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(b.N), "goroutines/socket")
	for _, c := range clients {
		_ = c.Close()
	}
}

// memory collects what can be: stacks shrink by half at most in one collection.
func memory() (m runtime.MemStats) {
	for range 6 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m
}

// bareClient opens a socket with as little of its own as can be, subscribes and
// waits for the first event.
func bareClient(b *testing.B, addr, token string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.WriteString(conn, "GET /graphql HTTP/1.1\r\nHost: "+addr+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n")
	if err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		b.Fatalf("the handshake was answered with %s", resp.Status)
	}
	for _, exchange := range []struct{ send, receive string }{
		{`{"type":"connection_init","payload":{"authorization":"` + token + `"}}`, "connection_ack"},
		{`{"id":"1","type":"subscribe","payload":{"query":"subscription($n:Int){ticks(upTo:$n)}","variables":{"n":null}}}`, `"next"`},
	} {
		if _, err := conn.Write(maskedFrame(exchange.send)); err != nil {
			b.Fatal(err)
		}
		header, err := r.Peek(2)
		if err != nil {
			b.Fatal(err)
		}
		frame := make([]byte, 2+int(header[1])) // a server's short frame: the length is plain
		if _, err := io.ReadFull(r, frame); err != nil || !strings.Contains(string(frame), exchange.receive) {
			b.Fatalf("received %q %v, want %s", frame, err, exchange.receive)
		}
	}
	return conn
}

// maskedFrame is a client's text frame with a mask of zeros.
func maskedFrame(text string) []byte {
	frame := []byte{0x81, 0x80 | 126, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(frame[2:], uint16(len(text)))
	return append(frame, text...)
}
