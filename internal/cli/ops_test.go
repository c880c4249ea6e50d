package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestWorkerShowsItsHealth: a worker without a server answers for itself, and
// serves nothing else.
func TestWorkerShowsItsHealth(t *testing.T) {
	t.Parallel()
	env := settings(durableRedis(t).URL(), testenv.Database(t))
	if code := start(t, env, "migrate", "up").Wait(patience); code != 0 {
		t.Fatalf("migrate up ended with %d", code)
	}
	w := start(t, env, "work", "--ops-addr", "127.0.0.1:0")
	url := w.WaitFor(patience, "ready worker url=")
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/livez":   {http.StatusOK, "ok"},
		"/readyz":  {http.StatusOK, `"worker"`},
		"/metrics": {http.StatusOK, "flashclaim_commit_seconds"},
		"/graphql": {http.StatusNotFound, "nothing is served"},
	} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want.status || !strings.Contains(string(body), want.text) {
			t.Errorf("%s: %d %.200s, %v", path, response.StatusCode, body, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if code := w.Stop(); code != 0 {
		t.Errorf("the worker ended with %d", code)
	}
}
