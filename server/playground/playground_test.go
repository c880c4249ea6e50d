package playground_test

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/flashclaim/flashclaim/server/playground"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, page playground.Page, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	playground.New(page, "/graphql").ServeHTTP(w, r)
	return w
}

func TestPrefillArrivesWhateverItHolds(t *testing.T) {
	t.Parallel()
	want := playground.Page{Query: "{a} # </script></div>\"'&\n", Variables: `{"x": "<!--"}`, Token: "a.b.c"}
	body := get(t, want, "/playground").Body.String()
	found := regexp.MustCompile(`data-prefill="([^"]*)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no prefill in %s", body)
	}
	var got playground.Page
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prefill (-want +got):\n%s", diff)
	}
}

func TestPageIsStrict(t *testing.T) {
	t.Parallel()
	w := get(t, playground.Page{}, "/playground")
	body := w.Body.String()
	if strings.Contains(body, "://") {
		t.Errorf("the page names another origin:\n%s", body)
	}
	if inline := regexp.MustCompile(`<script(>| [^>]*>[^<]+)`).FindString(body); inline != "" && !strings.Contains(inline, "src=") {
		t.Errorf("inline script %q", inline)
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("the policy %q lacks %q", policy, rule)
		}
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("a page that may hold a token has Cache-Control %q", got)
	}
}

func TestAssetsAreServedCompressedOrNotAndForLong(t *testing.T) {
	t.Parallel()
	body := get(t, playground.Page{}, "/playground/").Body.String()
	paths := regexp.MustCompile(`/playground/assets/[^"]+`).FindAllString(body, -1)
	if len(paths) != 6 {
		t.Fatalf("the page has assets %v, want 6", paths)
	}
	for _, path := range paths {
		plain := get(t, playground.Page{}, path)
		packed := get(t, playground.Page{}, path, "Accept-Encoding", "gzip, br")
		if plain.Code != 200 || packed.Code != 200 || packed.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: status %d, compressed %d %q", path, plain.Code, packed.Code, packed.Header().Get("Content-Encoding"))
			continue
		}
		if !strings.Contains(plain.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s has Cache-Control %q", path, plain.Header().Get("Cache-Control"))
		}
		unzip, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		unpacked, err := io.ReadAll(unzip)
		if err != nil || string(unpacked) != plain.Body.String() || len(unpacked) == 0 {
			t.Errorf("%s: %d bytes unpacked, %d plain, %v", path, len(unpacked), plain.Body.Len(), err)
		}
	}
	if got := get(t, playground.Page{}, "/playground/assets/none").Code; got != 404 {
		t.Errorf("an unknown asset gives %d", got)
	}
}
