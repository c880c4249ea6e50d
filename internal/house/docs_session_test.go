package house

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/cli"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// commands parts a shell script into commands and words, as far as our pages
// need it: quotes, continued lines, comments, variables. What a $(...) would
// print stays as it is written, and so do variables that are not given.
func commands(script string, variables map[string]string) (found [][]string) {
	var words []string
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			found = append(found, words)
		}
		words = nil
	}
	quote := byte(0)
	for i := 0; i < len(script); i++ {
		c := script[i]
		switch {
		case c == '$' && quote != '\'':
			text, length := dollar(script[i:], variables)
			word.WriteString(text)
			inWord = true
			i += length - 1
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0 && (quote == '\'' || c != '\\'):
			word.WriteByte(c)
		case c == '\\' && i+1 < len(script):
			i++
			if script[i] != '\n' {
				word.WriteByte(script[i])
				inWord = true
			}
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '#' && !inWord:
			for i+1 < len(script) && script[i+1] != '\n' {
				i++
			}
		case c == '\n' || c == '&' || c == ';' || c == '|':
			endCommand()
		case c == ' ' || c == '\t':
			endWord()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand()
	return found
}

var dollarName = regexp.MustCompile(`^\$(\w+)`)

// dollar reads what begins with a dollar sign: its value and its length.
func dollar(script string, variables map[string]string) (text string, length int) {
	if strings.HasPrefix(script, "$(") {
		length = strings.IndexByte(script, ')') + 1
		return script[:length], length
	}
	m := dollarName.FindStringSubmatch(script)
	if m == nil {
		return "$", 1
	}
	if value, ok := variables[m[1]]; ok {
		return value, len(m[0])
	}
	return m[0], len(m[0])
}

// request is what a curl command would send.
type request struct {
	url    string
	header http.Header
	body   string
}

func requestOf(t *testing.T, words []string) request {
	t.Helper()
	r := request{header: http.Header{}}
	for i := 1; i < len(words); i++ {
		switch w := words[i]; w {
		case "-H", "-d":
			if i++; i == len(words) {
				t.Fatalf("curl %s needs a value", w)
			}
			if w == "-d" {
				r.body = words[i]
				continue
			}
			name, value, _ := strings.Cut(words[i], ": ")
			r.header.Set(name, value)
		default:
			if !strings.HasPrefix(w, "-") {
				r.url = w
			}
		}
	}
	return r
}

// query is the GraphQL document in the body.
func (r request) query() string {
	var body struct{ Query string }
	_ = json.Unmarshal([]byte(r.body), &body) // no JSON has no query, which is no valid document
	return body.Query
}

// send sends the request and gives the answer, or the lines of a stream up to
// the one that the caller waits for.
func (r request) send(t *testing.T, client *http.Client, until string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	post.Header = r.header
	answer, err := client.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all strings.Builder
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), until) {
			return all.String()
		}
	}
	t.Fatalf("%s was answered without %s: %s %v", r.query(), until, all.String(), lines.Err())
	return ""
}

// play sends what the README's "sh dev" blocks send, in order, and the claim a
// second time.
func play(t *testing.T, variables map[string]string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var played []string
	for _, b := range pageNamed(t, "README.md").blocks {
		if b.info != "sh dev" {
			continue
		}
		for _, words := range commands(b.text, variables) {
			r := requestOf(t, words)
			switch {
			case r.header.Get("Accept") == "text/event-stream":
				r.send(t, client, `"COMMITTED"`)
				played = append(played, "subscription")
			case strings.Contains(r.query(), "claimVoucher"):
				order := regexp.MustCompile(`"id":"(ord_\w+)"`)
				first := order.FindString(r.send(t, client, `"replayed":false,"problem":null`))
				again := order.FindString(r.send(t, client, `"replayed":true,"problem":null`))
				if first == "" || first != again {
					t.Errorf("the same request got %s and %s", first, again)
				}
				played = append(played, "claim")
			default:
				r.send(t, client, `"id":"`+variables["VOUCHER"]+`"`)
				played = append(played, "query")
			}
		}
	}
	if !slices.Equal(played, []string{"query", "claim", "subscription"}) {
		t.Errorf("the README's session is %v", played)
	}
}

// program is a command of flashclaim that runs in this process.
type program struct {
	mu    sync.Mutex
	out   bytes.Buffer
	ended chan int
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start runs a command; the test's end ends it, and it must end well.
func start(t *testing.T, env map[string]string, args ...string) *program {
	t.Helper()
	p := &program{ended: make(chan int, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		p.ended <- cli.Main(ctx, args, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, p, p)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-p.ended; code != 0 {
			t.Errorf("flashclaim %s ended with %d", args[0], code)
		}
		if t.Failed() {
			t.Logf("flashclaim %s: %s", args[0], p.output())
		}
	})
	return p
}

// shows waits for a pattern in the output and gives its first group.
func (p *program) shows(t *testing.T, pattern string) string {
	t.Helper()
	wanted, found := regexp.MustCompile(pattern), []string(nil)
	testenv.Eventually(t, time.Minute, "the output has "+pattern, func() bool {
		found = wanted.FindStringSubmatch(p.output())
		return found != nil || len(p.ended) > 0
	})
	if found == nil {
		t.Fatalf("the program ended without %s: %s", pattern, p.output())
	}
	return found[1]
}

func TestDocsDevSessionRuns(t *testing.T) {
	t.Parallel()
	dev := start(t, nil, "dev", "--addr", "127.0.0.1:0")
	play(t, map[string]string{
		"URL":     dev.shows(t, `(?m)^ready url=(http://\S+)$`),
		"TOKEN":   dev.shows(t, `(?m)^ +buyer-1 +(\S+)$`),
		"VOUCHER": dev.shows(t, `(?m)^ +open voucher +(vch_\w+)`),
	})
}

// TestDocsRealSessionRuns types what the README says about real services, on a
// Redis with the README's own flags; the SQL on the pages must run too.
func TestDocsRealSessionRuns(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	env := map[string]string{"FLASHCLAIM_ADDR": "127.0.0.1:0"}
	variables := map[string]string{}
	for _, words := range realSession(t) {
		switch name, args := filepath.Base(words[0]), words[1:]; name {
		case "redis-server":
			if args[0] != "--port" {
				t.Fatalf("redis-server begins with %s", args[0])
			}
			variables["FLASHCLAIM_REDIS_URL"] = testenv.Redis(t, args[2:]...).URL()
			variables["FLASHCLAIM_DATABASE_URL"] = testenv.Database(t)
			variables["FLASHCLAIM_JWT_SECRET"] = strings.Repeat("0123456789abcdef", 4)
		case "export":
			name, _, _ := strings.Cut(args[0], "=")
			env[name] = variables[name]
		case "flashclaim":
			runReal(t, root, env, args, variables)
		case "make", "sudo": // the build, and a database that testenv has made
		default:
			t.Errorf("the README runs %s, which this test does not know", name)
		}
	}
	play(t, variables)
	runSQL(t, env["FLASHCLAIM_DATABASE_URL"])
}

func realSession(t *testing.T) [][]string {
	t.Helper()
	for _, b := range pageNamed(t, "README.md").blocks {
		if b.info == "sh real" {
			return commands(b.text, nil)
		}
	}
	t.Fatal("the README has no block sh real")
	return nil
}

func runReal(t *testing.T, root string, env map[string]string, args []string, variables map[string]string) {
	t.Helper()
	for i, a := range args {
		if _, err := os.Stat(filepath.Join(root, a)); err == nil && strings.Contains(a, "/") {
			args[i] = filepath.Join(root, a)
		}
	}
	switch p := start(t, env, args...); args[0] {
	case "serve":
		variables["URL"] = p.shows(t, `(?m)^ready url=(http://\S+)$`)
	case "work":
		p.shows(t, `(?m)^(ready worker)$`)
	case "voucher":
		variables["VOUCHER"] = p.shows(t, `(?m)^(vch_\w+)$`)
	case "token":
		variables["TOKEN"] = p.shows(t, `(?m)^(\w+\.\w+\.\S+)$`)
	default: // migrate up; the next commands need its end
		code := <-p.ended
		p.ended <- code // for the cleanup
	}
}

func runSQL(t *testing.T, databaseURL string) {
	t.Helper()
	db, err := sql.Open("postgres", databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language() != "sql" {
				continue
			}
			if _, err := db.ExecContext(t.Context(), b.text); err != nil {
				t.Errorf("%s: %v in\n%s", p.file, err, b.text)
			}
		}
	}
}

// TestDocsGoCompiles compiles the Go programs on the pages, with the generated
// client of the end-to-end tests in the place of the reader's own.
func TestDocsGoCompiles(t *testing.T) {
	t.Parallel()
	root, dir := moduleRoot(t), t.TempDir()
	replaced := map[string]string{}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language() != "go" {
				continue
			}
			file := filepath.Join(dir, "main.go")
			text := strings.ReplaceAll(b.text, "example.com/shop/api", module+"/internal/e2e/api")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			replaced[filepath.Join(root, "internal", "house", "snippet", "main.go")] = file
		}
	}
	if len(replaced) != 1 {
		t.Fatalf("%d Go programs on the pages, this test knows one", len(replaced))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	goCommand(t, root, "build", "-overlay", overlayFile, "-o", filepath.Join(dir, "snippet"), "./internal/house/snippet")
}
