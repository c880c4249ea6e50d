package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/flashclaim/flashclaim"

// A wall says who may import a package. Own packages are written from "./",
// "/..." means the package and everything below it. An import that is neither
// of the standard library nor behind any wall breaks the rules too, so that a
// new package or dependency finds its home here first. Where several walls
// match, the first one counts. Tests may import what they like.
type wall struct {
	around string   // the imported package
	open   []string // the packages that may import it
	why    string
}

// anybody stands for every package but those of the language.
const anybody = "./..."

// language are the packages that import the standard library alone: everybody
// speaks them, so what they import everybody would import.
var language = []string{"./internal/sale", "./internal/reqid"}

// wiring are the packages that know all rooms.
var wiring = []string{"./internal/app", "./internal/cli", "./cmd/..."}

func wired(more ...string) []string { return append(slices.Clone(wiring), more...) }

var walls = []wall{
	// The rooms. They know the language and not each other.
	{"./internal/sale", []string{anybody}, "the language is for everybody"},
	{"./internal/reqid", []string{anybody}, "request IDs appear in every log"},
	{"./ent/...", []string{"./ent/...", "./internal/store"}, "only the archive knows how rows are stored"},
	{"./server/...", wired("./server/..."), "the porch gets its schema handed in and is known by nobody else"},
	{"./graph/...", wired("./graph/..."), "the counter asks through small interfaces"},
	{"./worker/...", wired("./worker/..."), "the clerk asks through small interfaces"},
	{"./internal/redisdial", []string{"./internal/gate", "./internal/notify"}, "gate and bell open their clients alike"},
	{"./internal/desk", wiring, "a room is known by the wiring only"},
	{"./internal/gate", wiring, "a room is known by the wiring only"},
	{"./internal/store", wiring, "a room is known by the wiring only"},
	{"./internal/notify", wiring, "a room is known by the wiring only"},
	{"./internal/embedded", wiring, "a room is known by the wiring only"},
	{"./internal/metrics", wiring, "a room is known by the wiring only"},
	{"./internal/config", wiring, "rooms get values, not the configuration"},
	{"./internal/app", []string{"./internal/cli", "./cmd/..."}, "the wiring is known by the program only"},
	{"./internal/cli", []string{"./cmd/..."}, "the commands are known by the program only"},
	{"./internal/testenv", []string{}, "servers for tests are for tests only"},
	{"./internal/e2e/...", []string{"./internal/e2e/..."}, "clients for tests are for tests only"},

	// Third-party packages. Each has one home, so that replacing it is one room's work.
	{"github.com/redis/go-redis/v9/...", []string{"./internal/redisdial", "./internal/gate", "./internal/notify", "./internal/testenv"}, "two rooms speak to Redis"},
	{"database/sql/...", []string{"./internal/store", "./ent/...", "./internal/testenv"}, "one room speaks to the database"},
	{"github.com/lib/pq/...", []string{"./internal/store", "./internal/testenv"}, "one room speaks to the database"},
	{"modernc.org/sqlite/...", []string{"./internal/store"}, "one room speaks to the database"},
	{"entgo.io/ent/...", []string{"./ent/...", "./internal/store"}, "one room speaks to the database"},
	{"github.com/pressly/goose/v3/...", []string{"./internal/store"}, "migrations belong to the archive"},
	{"github.com/alicebob/miniredis/v2/...", []string{"./internal/embedded"}, "only the embedded default has no real Redis"},
	{"github.com/gorilla/websocket", []string{"./server/..."}, "sockets end at the porch"},
	{"github.com/golang-jwt/jwt/v5", []string{"./server/..."}, "tokens are verified at the porch"},
	{"github.com/99designs/gqlgen/...", []string{"./graph/...", "./server/...", "./internal/app"}, "GraphQL is spoken at the counter and the porch"},
	{"github.com/vektah/gqlparser/v2/...", []string{"./graph/...", "./server/...", "./internal/app"}, "GraphQL is spoken at the counter and the porch"},
	{"github.com/prometheus/client_golang/...", []string{"./internal/metrics"}, "rooms count through small interfaces"},
	{"github.com/spf13/cobra", []string{"./internal/cli"}, "only the commands know flags"},
	{"github.com/spf13/pflag", []string{"./internal/cli"}, "only the commands know flags"},
	{"go.uber.org/goleak", []string{"./internal/testenv"}, "one place knows which goroutines are harmless"},
	{"github.com/Khan/genqlient/...", []string{"./internal/e2e/..."}, "only the end-to-end tests are a client"},
	{"golang.org/x/sync/...", []string{anybody}, "an extension of the standard library"},
}

// imports are one package's imports, tests aside.
type imports struct {
	ImportPath string
	Imports    []string
}

// breaches names every import that the walls forbid, in the order of packages.
func breaches(packages []imports, walls []wall) []string {
	var found []string
	for _, p := range packages {
		from := fromRoot(p.ImportPath)
		for _, path := range p.Imports {
			if why := forbidden(from, fromRoot(path), walls); why != "" {
				found = append(found, fmt.Sprintf("%s may not import %s: %s", from, fromRoot(path), why))
			}
		}
	}
	return found
}

// forbidden says why an import breaks the rules, or nothing.
func forbidden(from, path string, walls []wall) string {
	if slices.Contains(language, from) && !standard(path) {
		return "the language imports the standard library alone"
	}
	for _, w := range walls {
		if !covers(w.around, path) {
			continue
		}
		if slices.ContainsFunc(w.open, func(pattern string) bool { return covers(pattern, from) }) {
			return ""
		}
		return w.why
	}
	if standard(path) {
		return ""
	}
	return "it has no home yet; give it a wall in internal/house"
}

func fromRoot(path string) string {
	if below, ok := strings.CutPrefix(path, module); ok && (below == "" || below[0] == '/') {
		return "." + below
	}
	return path
}

// standard tells a package of the standard library: its first element is not a
// host's name.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func covers(pattern, path string) bool {
	above, all := strings.CutSuffix(pattern, "/...")
	return path == above || all && strings.HasPrefix(path, above+"/")
}

func TestWallsStand(t *testing.T) {
	t.Parallel()
	packages := listImports(t)
	if len(packages) < len(language) {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, breach := range breaches(packages, walls) {
		t.Error(breach)
	}
}

func listImports(t *testing.T) []imports {
	t.Helper()
	list := json.NewDecoder(strings.NewReader(
		goCommand(t, moduleRoot(t), "list", "-json=ImportPath,Imports", "./...")))
	var packages []imports
	for {
		var p imports
		err := list.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestBrokenWallsAreReported(t *testing.T) {
	t.Parallel()
	const mod = module + "/"
	packages := []imports{
		{mod + "internal/sale", []string{"errors", "github.com/google/uuid", mod + "internal/reqid"}},
		{mod + "internal/gate", []string{"context", mod + "internal/sale", mod + "internal/store", "github.com/redis/go-redis/v9"}},
		{mod + "server", []string{mod + "server/websocket", mod + "graph", "database/sql"}},
		{mod + "worker", []string{"github.com/redis/go-redis/v9/internal/pool", "example.com/new", mod + "newroom"}},
		{mod + "internal/app", []string{mod + "internal/gate", mod + "graph/generated", mod + "internal/testenv"}},
	}
	want := []string{
		"./internal/sale may not import github.com/google/uuid: the language imports the standard library alone",
		"./internal/sale may not import ./internal/reqid: the language imports the standard library alone",
		"./internal/gate may not import ./internal/store: a room is known by the wiring only",
		"./server may not import ./graph: the counter asks through small interfaces",
		"./server may not import database/sql: one room speaks to the database",
		"./worker may not import github.com/redis/go-redis/v9/internal/pool: two rooms speak to Redis",
		"./worker may not import example.com/new: it has no home yet; give it a wall in internal/house",
		"./worker may not import ./newroom: it has no home yet; give it a wall in internal/house",
		"./internal/app may not import ./internal/testenv: servers for tests are for tests only",
	}
	if diff := cmp.Diff(want, breaches(packages, walls)); diff != "" {
		t.Errorf("breaches (-want +got):\n%s", diff)
	}
}
