package cli

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

// quickly bounds the answer of a server that cannot do what it was asked.
const quickly = 5 * time.Second

// places are a Redis and a PostgreSQL that can be stopped, both with a password.
type places struct {
	redis    *testenv.RedisServer
	postgres *testenv.PostgresServer
	env      []string
}

const password = "hunter2hunter2"

func stoppedPlaces(t *testing.T) places {
	t.Helper()
	p := places{redis: durableRedis(t, "--requirepass", password), postgres: testenv.Postgres(t)}
	p.env = settings("redis://:"+password+"@"+p.redis.Addr()+"/0",
		strings.Replace(p.postgres.URL("postgres"), "postgres@", "postgres:"+password+"@", 1), "FLASHCLAIM_LOG_LEVEL=debug")
	p.redis.Stop()
	p.postgres.Stop()
	return p
}

// TestAnyOrder: processes start while Redis and the database are away, say so,
// and work when both have come, in whatever order, without a restart.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	for name, redisFirst := range map[string]bool{"Redis first": true, "database first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := stoppedPlaces(t)
			// The one deployment is a single process, the other has one for each part.
			processes := []*testenv.Program{start(t, p.env, "all")}
			if !redisFirst {
				processes = []*testenv.Program{start(t, p.env, "serve"), start(t, p.env, "work")}
				processes[1].WaitFor(patience, "ready worker")
			}
			a := apiOf(t, processes[0].WaitFor(patience, "ready url="))

			nothingIsThere(t, a)
			if redisFirst {
				p.redis.Start()
				becomesReady(t, a, "/readyz?only=redis")
				p.databaseComes(t, a)
			} else {
				p.databaseComes(t, a)
				becomesReady(t, a, "/readyz?only=database")
				p.redis.Start()
			}
			becomesReady(t, a, "/readyz")
			a.committed(token(t, "ada"), a.claimed(token(t, "ada"), a.sell()))

			for _, process := range processes {
				if code := process.Stop(); code != 0 {
					t.Errorf("it ended with %d", code)
				}
				if out := process.Output(); strings.Contains(out, password) || strings.Contains(out, secret) {
					t.Errorf("it printed a password or the secret: %s", out)
				}
			}
		})
	}
}

// nothingIsThere: the process lives, is not ready, names what is missing, and
// answers at once.
func nothingIsThere(t *testing.T, a *api) {
	t.Helper()
	if status, body := a.get("/livez"); status != http.StatusOK {
		t.Errorf("/livez: %d %s", status, body)
	}
	status, body := a.get("/readyz")
	for _, check := range []string{`{"name":"redis","state":"failing"`, `{"name":"database","state":"failing"`} {
		if status != http.StatusServiceUnavailable || !strings.Contains(body, check) {
			t.Errorf("/readyz: %d %s, want 503 with %s", status, body, check)
		}
	}
	unavailable(t, a, "vch_030123456789abcdefghjkmnpqrs")
}

// unavailable: a claim is refused as one to repeat, and nobody waits for it.
func unavailable(t *testing.T, a *api, voucher string) {
	t.Helper()
	began := time.Now()
	if got := a.claim(token(t, "eve"), voucher); got.code() != "UNAVAILABLE" {
		t.Errorf("a claim is answered with %+v, want UNAVAILABLE", got)
	}
	if took := time.Since(began); took > quickly {
		t.Errorf("UNAVAILABLE took %s", took)
	}
}

func becomesReady(t *testing.T, a *api, path string) {
	t.Helper()
	testenv.Eventually(t, patience, path+" is 200", func() bool { status, _ := a.get(path); return status == http.StatusOK })
}

// databaseComes starts the database and migrates it a while later: until then
// the process waits, and says for what.
func (p places) databaseComes(t *testing.T, a *api) {
	t.Helper()
	p.postgres.Start()
	testenv.Eventually(t, patience, "/readyz names the command", func() bool {
		_, body := a.get("/readyz?only=database")
		return strings.Contains(body, "run: flashclaim migrate up")
	})
	migrate(t, p.env)
}

// TestOutages: Redis goes and comes back, then the database does. The same
// process goes on; what the gate accepted meanwhile is committed afterwards.
func TestOutages(t *testing.T) {
	t.Parallel()
	p := stoppedPlaces(t)
	p.redis.Start()
	p.postgres.Start()
	migrate(t, p.env)
	a := apiOf(t, start(t, p.env, "all").WaitFor(patience, "ready url="))
	becomesReady(t, a, "/readyz")
	voucher := a.sell()
	a.committed(token(t, "ada"), a.claimed(token(t, "ada"), voucher))

	p.redis.Stop()
	unavailable(t, a, voucher)
	if status, body := a.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `{"name":"database","state":"ok"}`) {
		t.Errorf("Redis away: /readyz is %d %s", status, body)
	}
	p.redis.Start()
	becomesReady(t, a, "/readyz")
	a.committed(token(t, "bob"), a.claimed(token(t, "bob"), voucher))

	p.postgres.Stop()
	waiting := a.claimed(token(t, "cid"), voucher)
	if status, body := a.get("/readyz?only=redis,worker"); status != http.StatusOK {
		t.Errorf("database away: /readyz?only=redis,worker is %d %s", status, body)
	}
	if status, body := a.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `{"name":"redis","state":"ok"}`) {
		t.Errorf("database away: /readyz is %d %s", status, body)
	}
	if again := a.claimed(token(t, "cid"), voucher); again != waiting {
		t.Errorf("the same claim gives %s and then %s", waiting, again)
	}
	p.postgres.Start()
	a.committed(token(t, "cid"), waiting)
	becomesReady(t, a, "/readyz")
}

// TestEndsInTime: SIGTERM ends every command within ten seconds, with 0, and an
// open socket hears that it should come back.
func TestEndsInTime(t *testing.T) {
	t.Parallel()
	env := settings(durableRedis(t).URL(), testenv.Database(t))
	migrate(t, env)
	for _, command := range append([]string{"dev"}, running...) {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			process := start(t, env, command)
			closed := make(chan error, 1)
			if command == "work" {
				process.WaitFor(patience, "worker started")
				closed <- &websocket.CloseError{Code: websocket.CloseServiceRestart} // has no sockets
			} else {
				listen(t, process.WaitFor(patience, "ready url="), closed)
			}
			began := time.Now()
			if code := process.Stop(); code != 0 {
				t.Errorf("it ended with %d: %s", code, process.Output())
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s to end", took)
			}
			var heard *websocket.CloseError
			if err := <-closed; !errors.As(err, &heard) || heard.Code != websocket.CloseServiceRestart {
				t.Errorf("the socket heard %v, want 1012", err)
			}
		})
	}
}

// listen opens a socket with a subscription and gives what ends it.
func listen(t *testing.T, url string, closed chan<- error) {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}, HandshakeTimeout: patience}
	socket, response, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/graphql", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	t.Cleanup(func() { _ = socket.Close() })
	_ = socket.SetReadDeadline(time.Now().Add(patience))
	init := map[string]any{"type": "connection_init", "payload": map[string]string{"authorization": token(t, "ada")}}
	var ack struct{ Type string }
	if err := errors.Join(socket.WriteJSON(init), socket.ReadJSON(&ack)); err != nil || ack.Type != "connection_ack" {
		t.Fatalf("connection_init is answered with %+v, %v", ack, err)
	}
	if err := socket.WriteJSON(map[string]any{
		"id": "1", "type": "subscribe", "payload": map[string]string{"query": "subscription { viewerOrderUpdated { id } }"},
	}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, _, err := socket.ReadMessage(); err != nil {
				closed <- err
				return
			}
		}
	}()
}
