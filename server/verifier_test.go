package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

var (
	testSecret = []byte("0123456789abcdef0123456789abcdef")
	noon       = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
)

// clocked is a verifier whose clock the test moves.
func clocked(t *testing.T) (v *Verifier, now *time.Time) {
	t.Helper()
	now = &time.Time{}
	*now = noon
	v, err := newVerifier(testSecret, func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return v, now
}

// handmade signs any header and payload with HS256.
func handmade(header, payload string) string {
	b64 := base64.RawURLEncoding
	text := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	mac := hmac.New(sha256.New, testSecret)
	mac.Write([]byte(text))
	return text + "." + b64.EncodeToString(mac.Sum(nil))
}

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	v, _ := clocked(t)
	token, err := v.Sign("ada", []sale.Role{sale.RoleAdmin, sale.RolePayment}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := Pass{sale.Viewer{BuyerID: "ada", Roles: []sale.Role{"admin", "payment"}}, noon.Add(time.Hour)}
	for range 2 { // the second from the cache
		got, err := v.Verify("Bearer " + token)
		if err != nil {
			t.Fatal(err)
		}
		got.ExpiresAt = got.ExpiresAt.UTC()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pass (-want +got):\n%s", diff)
		}
	}
}

func TestForeignTokens(t *testing.T) {
	t.Parallel()
	v, _ := clocked(t)
	const hs256 = `{"alg":"HS256","typ":"JWT"}`
	const good = `{"sub":"ada","exp":1893499200}` // noon of 2030-01-01 + 1 h is 1893502800
	fine := []struct {
		payload string
		roles   []sale.Role
	}{
		{`{"sub":"ada","exp":1893502800,"role":"admin"}`, []sale.Role{"admin"}},
		{`{"sub":"ada","exp":1893502800,"roles":["admin","x"]}`, []sale.Role{"admin", "x"}},
		{`{"sub":"ada","exp":1893502800,"roles":"admin"}`, []sale.Role{"admin"}},
		{`{"sub":"ada","exp":1893502800,"roles":null}`, nil},
		{`{"sub":"ada","exp":1893499197}`, nil}, // 3 s ago, within the leeway
	}
	for _, c := range fine {
		got, err := v.Verify(handmade(hs256, c.payload))
		if err != nil {
			t.Errorf("%s: %v", c.payload, err)
			continue
		}
		if diff := cmp.Diff(sale.Viewer{BuyerID: "ada", Roles: c.roles}, got.Viewer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.payload, diff)
		}
	}
	refused := map[string]string{
		"alg none":          strings.TrimSuffix(handmade(`{"alg":"none"}`, good), "x"),
		"alg HS512":         handmade(`{"alg":"HS512"}`, `{"sub":"ada","exp":1893502800}`),
		"alg RS256":         handmade(`{"alg":"RS256"}`, `{"sub":"ada","exp":1893502800}`),
		"no exp":            handmade(hs256, `{"sub":"ada"}`),
		"expired":           handmade(hs256, `{"sub":"ada","exp":1893499190}`),
		"not yet":           handmade(hs256, `{"sub":"ada","exp":1893502800,"nbf":1893499300}`),
		"no subject":        handmade(hs256, `{"exp":1893502800}`),
		"control character": handmade(hs256, `{"sub":"a\u0000b","exp":1893502800}`),
		"numeric subject":   handmade(hs256, `{"sub":5,"exp":1893502800}`),
		"roles of a number": handmade(hs256, `{"sub":"ada","exp":1893502800,"roles":5}`),
		"wrong signature":   handmade(hs256, `{"sub":"ada","exp":1893502800}`) + "A",
		"dots":              strings.Repeat(".", 1<<20),
		"long":              handmade(hs256, `{"sub":"ada","exp":1893502800,"x":"`+strings.Repeat("x", 5000)+`"}`),
		"nothing":           "",
		"scheme alone":      "Bearer ",
	}
	for name, token := range refused {
		if got, err := v.Verify(token); !errors.Is(err, sale.ErrUnauthenticated) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestUnsignedTokenIsRefused(t *testing.T) {
	t.Parallel()
	v, _ := clocked(t)
	token, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": "ada", "exp": noon.Add(time.Hour).Unix()}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(token); !errors.Is(err, sale.ErrUnauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestCachedPassDoesNotOutliveItsToken(t *testing.T) {
	t.Parallel()
	v, now := clocked(t)
	token, err := v.Sign("ada", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(token); err != nil {
		t.Fatal(err)
	}
	*now = noon.Add(time.Minute + tokenLeeway + time.Second)
	if _, err := v.Verify(token); !errors.Is(err, sale.ErrUnauthenticated) {
		t.Errorf("an expired token that was seen before: %v", err)
	}
}

func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	c := newPassCache(10)
	later := noon.Add(time.Hour)
	c.put("used", Pass{ExpiresAt: later})
	for i := range 100 {
		c.put(strings.Repeat("x", i+1), Pass{ExpiresAt: later})
		if _, ok := c.get("used", noon); !ok {
			t.Fatalf("after %d others the used token is forgotten", i+1)
		}
	}
	if n := len(c.young) + len(c.old); n > 20 {
		t.Errorf("%d entries, want at most 20", n)
	}
	if _, ok := c.get("x", noon); ok {
		t.Error("a token that was not used for long is still there")
	}
	c.put(strings.Repeat("y", maxCachedToken+1), Pass{ExpiresAt: later})
	if _, ok := c.get(strings.Repeat("y", maxCachedToken+1), noon); ok {
		t.Error("a huge token is kept")
	}
}

func TestNewVerifierAndSignNameTheFault(t *testing.T) {
	t.Parallel()
	if _, err := NewVerifier([]byte("short")); err == nil || err.Error() != "the JWT secret has 5 bytes; it needs at least 32 random ones" {
		t.Errorf("a short secret: %v", err)
	}
	v, _ := clocked(t)
	if _, err := v.Sign("", nil, time.Hour); err == nil {
		t.Error("a token for nobody was signed")
	}
	if _, err := v.Sign("ada", nil, 0); err == nil {
		t.Error("a token that is over at once was signed")
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"":                                  typeJSON,
		"text/html":                         typeJSON,
		"*/*":                               typeJSON,
		"application/graphql-response+json": typeGraphQL,
		"application/json, multipart/mixed": typeJSON,
		"application/graphql-response+json, application/json;q=0.9": typeGraphQL,
		"application/graphql-response+json;q=0.5, application/json": typeJSON,
		"text/event-stream":                             typeEvents,
		"application/json;q=0, text/event-stream;q=0.1": typeEvents,
	} {
		if got := accepted(accept); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	v, err := NewVerifier(testSecret)
	if err != nil {
		b.Fatal(err)
	}
	token, err := v.Sign("ada", []sale.Role{sale.RoleAdmin}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Verify("Bearer " + token); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("uncached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.known = newPassCache(1)
			if _, err := v.Verify("Bearer " + token); err != nil {
				b.Fatal(err)
			}
		}
	})
}
