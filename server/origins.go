package server

import (
	"net/http"
	"net/url"
	"strings"
)

// origins knows whose pages may call. A request without an Origin does not come
// from a browser's page, so there is no page to distrust.
type origins struct {
	every   bool
	allowed map[string]bool
}

func newOrigins(list []string) origins {
	o := origins{allowed: map[string]bool{}}
	for _, origin := range list {
		o.every = o.every || origin == "*"
		o.allowed[normalOrigin(origin)] = true
	}
	return o
}

func normalOrigin(origin string) string { return strings.ToLower(strings.TrimSuffix(origin, "/")) }

// allow tells whether the page that sent the request may call.
func (o origins) allow(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || sameHost(origin, r.Host) || o.foreign(origin)
}

// foreign tells whether the origin is on the list.
func (o origins) foreign(origin string) bool { return o.every || o.allowed[normalOrigin(origin)] }

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// share adds the headers that let a listed page read the answer, and tells
// whether the request was a preflight, which is then answered.
func (o origins) share(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if o.foreign(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "X-Request-Id")
		if preflight {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, X-Request-Id")
			h.Set("Access-Control-Max-Age", "600")
		}
	}
	if preflight {
		w.WriteHeader(http.StatusNoContent)
	}
	return preflight
}
