package playground

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strings"
)

// Page is what the page is pre-filled with; all of it may be empty.
type Page struct {
	Query     string `json:"query"`     // one or several operations
	Variables string `json:"variables"` // JSON
	Token     string `json:"token"`     // goes into the headers tab; only for a server whose tokens are for play
}

//go:embed assets page.html playground.js playground.css
var files embed.FS

var pageTemplate = template.Must(template.ParseFS(files, "page.html"))

// The policy allows what GraphiQL needs and no other origin: styles that its
// editor sets at run time, and a font and images inside its style sheet.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const assetsPath = "/playground/assets/"

// asset is one file of the page, ready to be sent.
type asset struct {
	contentType string
	compressed  []byte // gzip
}

// handler serves the page and its assets. Both are made once.
type handler struct {
	page   []byte
	assets map[string]asset // by path
}

// New makes the handler for /playground and everything below it. The endpoint
// is the path of the API on the same origin. It panics when the binary was
// built without its assets.
func New(page Page, endpoint string) http.Handler {
	h := &handler{assets: map[string]asset{}}
	paths := map[string]string{}
	for name, a := range load() {
		sum := sha256.Sum256(a.compressed)
		// The hash stands in the path, so that the path may be cached for ever.
		paths[name] = assetsPath + hex.EncodeToString(sum[:8]) + "/" + name
		h.assets[paths[name]] = a
	}
	prefill, _ := json.Marshal(page) // three strings: cannot fail
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, view{Endpoint: endpoint, Prefill: string(prefill), paths: paths})
	if err != nil {
		panic("playground: " + err.Error())
	}
	h.page = out.Bytes()
	return h
}

// view is what page.html sees.
type view struct {
	Endpoint string
	Prefill  string
	paths    map[string]string
}

// Asset gives the path of an asset.
func (v view) Asset(name string) (string, error) {
	p, ok := v.paths[name]
	if !ok {
		return "", &missingAsset{name}
	}
	return p, nil
}

type missingAsset struct{ name string }

func (e *missingAsset) Error() string {
	return e.name + " is not in the binary; run make playground-assets and build again"
}

// load reads all assets: the libraries, which are stored compressed, and our
// own script and style sheet.
func load() map[string]asset {
	assets := map[string]asset{}
	entries, err := files.ReadDir("assets")
	if err != nil {
		panic("playground: " + err.Error())
	}
	for _, entry := range entries {
		name, compressed := strings.CutSuffix(entry.Name(), ".gz")
		if compressed {
			assets[name] = asset{contentType: contentType(name), compressed: read("assets/" + entry.Name())}
		}
	}
	for _, name := range []string{"playground.js", "playground.css"} {
		assets[name] = asset{contentType: contentType(name), compressed: compress(read(name))}
	}
	return assets
}

func read(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic("playground: " + err.Error())
	}
	return data
}

func compress(plain []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(plain) // into memory: cannot fail
	_ = w.Close()
	return out.Bytes()
}

func contentType(name string) string {
	if strings.HasSuffix(name, ".css") {
		return "text/css; charset=utf-8"
	}
	return "text/javascript; charset=utf-8"
}

// ServeHTTP answers the page, an asset, or 404.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if a, ok := h.assets[r.URL.Path]; ok {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		a.serve(w, r)
		return
	}
	if r.URL.Path != "/playground" && r.URL.Path != "/playground/" {
		http.NotFound(w, r)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store") // it may hold a token
	_, _ = w.Write(h.page)
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(a.compressed)
		return
	}
	unzip, err := gzip.NewReader(bytes.NewReader(a.compressed))
	if err != nil {
		panic("playground: " + err.Error())
	}
	_, _ = io.Copy(w, unzip) //nolint:gosec // G110: our own embedded file, not a stranger's
}
