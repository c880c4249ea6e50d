package gate_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// proxy stands between a gate and Redis and knows nothing of what they say. When
// armed it lets a request through and cuts the connection when the reply comes,
// once, so that a client which repeats by itself would have its way.
type proxy struct {
	listener net.Listener
	armed    atomic.Int32 // replies until the lost one, 0 when none is to be lost
	lost     atomic.Int32 // replies
	mu       sync.Mutex
	conns    []net.Conn
	wg       sync.WaitGroup
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l}
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// serve forwards to the server from now on.
func (p *proxy) serve(target string) {
	p.wg.Go(func() { p.forward(target) })
}

func (p *proxy) forward(target string) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wg.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		p.wg.Go(func() { p.answer(client, server) })
	}
}

func (p *proxy) answer(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if p.armed.Load() > 0 && p.armed.Add(-1) == 0 {
			p.lost.Add(1)
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// during loses the nth reply that comes during the call.
func (p *proxy) during(nth int32, call func()) {
	p.armed.Store(nth)
	defer p.armed.Store(0)
	call()
}

// behindProxy is a bundle whose gate speaks through the proxy and whose raw client
// does not.
func behindProxy(t *testing.T) (*bundle, *proxy) {
	t.Helper()
	p := newProxy(t)
	server := testenv.Redis(t)
	p.serve(server.Addr())
	return p.between(t, "redis://"+p.addr()+"/0", newBundle(t, server.URL())), p
}

func (p *proxy) between(t *testing.T, url string, direct *bundle) *bundle {
	t.Helper()
	b := newBundle(t, url)
	b.raw, direct.raw = direct.raw, b.raw // each is closed by its bundle
	// The reply that is lost must be a script's own, not that it is unknown yet.
	files, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.raw.ScriptLoad(t.Context(), string(source)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// clusterBehindProxy is one cluster node that names the proxy as its address, so
// that a cluster client speaks through it too.
func clusterBehindProxy(t *testing.T) (*bundle, *proxy) {
	t.Helper()
	p := newProxy(t)
	_, port, _ := strings.Cut(p.addr(), ":")
	server := testenv.Redis(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", port,
		"--cluster-port", freePort(t))
	p.serve(server.Addr())
	direct := newBundle(t, server.URL())
	if err := direct.raw.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, "a cluster of one", func() bool {
		info, err := direct.raw.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	return p.between(t, "redis://"+p.addr()+","+p.addr(), direct), p
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}

// TestRepeatAfterALostReply guards A6, A7, V15 and V16: the claim was decided and
// the answer never came. The repeat gets that order, and stock moved once.
func TestRepeatAfterALostReply(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (*bundle, *proxy){
		"one server": behindProxy, "cluster": clusterBehindProxy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := open(t)
			v := b.published(t)
			b.accepted(t, one(v, "first")) // opens the connection
			c := sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1, RequestID: "r"}
			p.during(1, func() {
				if r, err := b.Claim(t.Context(), c); sale.CodeOf(err) != sale.CodeUnavailable || r.Order != nil {
					t.Errorf("got %s, %v", codeOf(r), err)
				}
			})
			if p.lost.Load() == 0 {
				t.Fatal("no reply was lost")
			}
			if stock := b.conserved(t, v); stock != 8 {
				t.Errorf("after the lost reply stock is %d, want 8", stock)
			}
			r := b.claim(t, c)
			if codeOf(r) != "REPLAYED" {
				t.Fatalf("the repeat: %s", codeOf(r))
			}
			e := b.read(t, v.ID.Partition(), "c", 2)[1]
			if r.Order.ID != e.Order.ID {
				t.Errorf("the repeat got %s, queued is %s", r.Order.ID, e.Order.ID)
			}
			if stock := b.conserved(t, v); stock != 8 {
				t.Errorf("after the repeat stock is %d, want 8", stock)
			}
		})
	}
}

// TestReleaseAfterALostReply guards C7: the repeat gives nothing back a second
// time.
func TestReleaseAfterALostReply(t *testing.T) {
	t.Parallel()
	b, p := behindProxy(t)
	v := b.published(t)
	o := b.accepted(t, one(v, "u"))
	p.during(1, func() {
		if done, err := b.Release(t.Context(), *o); sale.CodeOf(err) != sale.CodeUnavailable || done {
			t.Errorf("got %v, %v", done, err)
		}
	})
	if stock := b.conserved(t, v); stock != 10 {
		t.Errorf("stock %d, want 10", stock)
	}
	if !b.release(t, *o) || b.conserved(t, v) != 10 {
		t.Error("the repeat changed stock")
	}
}

// TestReadAfterALostReply guards V18: entries whose delivery was lost stand in the
// consumer's own name, where only a reclaim finds them.
func TestReadAfterALostReply(t *testing.T) {
	t.Parallel()
	b, p := behindProxy(t)
	v := b.published(t)
	b.read(t, v.ID.Partition(), "c", 0) // opens the connection
	o := b.accepted(t, one(v, "u"))
	p.during(1, func() {
		if e, err := b.Read(t.Context(), v.ID.Partition(), "c", 10, time.Second); sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("got %v, %v", e, err)
		}
	})
	b.read(t, v.ID.Partition(), "c", 0)
	entries, lost, err := b.Reclaim(t.Context(), v.ID.Partition(), "c", 0, 10)
	if err != nil || lost != 0 || len(entries) != 1 || entries[0].Order.ID != o.ID {
		t.Errorf("reclaimed %+v, lost %d, %v", entries, lost, err)
	}
}

// TestAcknowledgeAfterALostReply: the repeat announces again, which is harmless,
// and finds nothing to acknowledge.
func TestAcknowledgeAfterALostReply(t *testing.T) {
	t.Parallel()
	b, p := behindProxy(t)
	v := b.published(t)
	b.accepted(t, one(v, "u"))
	e := b.read(t, v.ID.Partition(), "c", 1)[0]
	o := e.Order.Committed(time.Now())
	settled := []sale.Settled{{StreamID: e.StreamID, Order: &o}}
	p.during(1, func() {
		if n, err := b.Acknowledge(t.Context(), e.Partition, settled); sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("got %d, %v", n, err)
		}
	})
	if n, err := b.Acknowledge(t.Context(), e.Partition, settled); n != 0 || err != nil {
		t.Errorf("the repeat acknowledged %d, %v", n, err)
	}
	for _, told := range b.events(t, e.Partition) {
		if told.ID != o.ID || told.Version != o.Version {
			t.Errorf("announced %+v", told)
		}
	}
}

// TestLoadAfterALostReply: a load whose beginning is unknown does not block the
// next one.
func TestLoadAfterALostReply(t *testing.T) {
	t.Parallel()
	b, p := behindProxy(t)
	v := b.voucher(t)
	b.published(t)       // opens the connection
	p.during(2, func() { // the first is the group's
		if err := b.Load(t.Context(), v.ID); sale.CodeOf(err) != sale.CodeUnavailable {
			t.Error(err)
		}
	})
	began := time.Now()
	b.accepted(t, one(v, "u"))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the next load took %s", took)
	}
	b.conserved(t, v)
}
