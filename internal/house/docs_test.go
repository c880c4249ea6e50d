package house

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/flashclaim/flashclaim/graph"
	"github.com/flashclaim/flashclaim/internal/cli"
	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/metrics"
	"github.com/flashclaim/flashclaim/internal/sale"
)

var update = flag.Bool("update", false, "write the tables of settings and metrics into the pages")

// page is one of the pages that people read.
type page struct {
	file   string // from the root, with slashes
	text   string
	blocks []block
}

// block is fenced code. Its info is what stands behind the fence, such as "sh dev".
type block struct{ info, text string }

func (b block) language() string { kind, _, _ := strings.Cut(b.info, " "); return kind }

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

func newPage(file, text string) page {
	p := page{file: file, text: text}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		p.blocks = append(p.blocks, block{info: m[1], text: m[2]})
	}
	return p
}

// pages are README and the like, and everything in docs.
func pages(t *testing.T) []page {
	t.Helper()
	root := moduleRoot(t)
	var found []page
	for _, file := range sourceFiles(t, root) {
		file = filepath.ToSlash(file)
		if path.Ext(file) == ".md" && (!strings.Contains(file, "/") || strings.HasPrefix(file, "docs/")) {
			found = append(found, newPage(file, string(read(t, root, file))))
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d pages were found", len(found))
	}
	return found
}

func pageNamed(t *testing.T, file string) page {
	t.Helper()
	return newPage(file, string(read(t, moduleRoot(t), file)))
}

func TestDocsLinksLead(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	readFile := func(file string) (string, bool) {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil {
			return "", false
		}
		if info.IsDir() {
			return "", true
		}
		return string(read(t, root, file)), true
	}
	for _, p := range pages(t) {
		for _, fault := range deadLinks(p, readFile) {
			t.Error(fault)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// deadLinks names the links of a page that lead to no file or no heading.
func deadLinks(p page, readFile func(string) (string, bool)) (faults []string) {
	for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(p.text, ""), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		text, ok := p.text, true
		if target != "" {
			text, ok = readFile(path.Join(path.Dir(p.file), target))
		}
		if !ok || anchor != "" && !slices.Contains(anchors(text), anchor) {
			faults = append(faults, fmt.Sprintf("%s: %s leads nowhere", p.file, m[1]))
		}
	}
	return faults
}

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

var embeddedQuery = regexp.MustCompile("query: `([^`]*)`")

// TestDocsGraphQLIsValid holds every operation on the pages against the schema:
// blocks of graphql, and what the JavaScript and the curl commands send.
func TestDocsGraphQLIsValid(t *testing.T) {
	t.Parallel()
	schema := gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphqls", Input: graph.SDL})
	seen := map[string]int{}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			for _, operation := range operations(t, b) {
				seen[b.language()]++
				if _, err := gqlparser.LoadQueryWithRules(schema, operation, nil); err != nil {
					t.Errorf("%s: %v in\n%s", p.file, err, operation)
				}
			}
		}
	}
	if seen["graphql"] < 3 || seen["js"] < 1 || seen["sh"] < 3 {
		t.Errorf("operations found: %v; the test no longer sees the blocks", seen)
	}
}

func operations(t *testing.T, b block) (found []string) {
	t.Helper()
	switch b.language() {
	case "graphql":
		found = append(found, b.text)
	case "js":
		for _, m := range embeddedQuery.FindAllStringSubmatch(b.text, -1) {
			found = append(found, m[1])
		}
	case "sh":
		for _, words := range commands(b.text, nil) {
			if words[0] == "curl" {
				found = append(found, requestOf(t, words).query())
			}
		}
	}
	return found
}

func TestDocsVoucherIsAccepted(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	draft, err := sale.DecodeDraft(read(t, root, "docs/examples/voucher.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := draft.Voucher(sale.VoucherID("")); err != nil {
		t.Error(err)
	}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language() == "json" && !json.Valid([]byte(b.text)) {
				t.Errorf("%s: no JSON:\n%s", p.file, b.text)
			}
		}
	}
}

func TestDocsCommandsExist(t *testing.T) {
	t.Parallel()
	makefile := string(read(t, moduleRoot(t), "Makefile"))
	seen := 0
	for _, p := range pages(t) {
		for _, words := range commandsOn(p) {
			seen++
			if fault := commandFault(words, makefile, helpOf); fault != "" {
				t.Errorf("%s: %s: %s", p.file, strings.Join(words, " "), fault)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d commands were found", seen)
	}
}

var inline = regexp.MustCompile("`([^`\n]+)`")

// commandsOn gives all commands of a page: those in blocks of sh, and those in
// the text, such as `make test`.
func commandsOn(p page) (found [][]string) {
	for _, b := range p.blocks {
		if b.language() == "sh" {
			found = append(found, commands(b.text, nil)...)
		}
	}
	for _, m := range inline.FindAllStringSubmatch(fence.ReplaceAllString(p.text, ""), -1) {
		if strings.HasPrefix(m[1], "flashclaim ") || strings.HasPrefix(m[1], "make ") || strings.HasPrefix(m[1], "bin/") {
			found = append(found, commands(m[1], nil)...)
		}
	}
	return found
}

// commandFault says why there is no such command, or nothing. Commands of
// others are taken as they are.
func commandFault(words []string, makefile string, help func(args []string) string) string {
	args := words[1:]
	switch path.Base(words[0]) {
	case "make":
		for _, target := range args {
			if !strings.Contains(target, "=") && !strings.Contains(makefile, "\n"+target+":") {
				return "make has no target " + target
			}
		}
	case "flashclaim":
		return flashclaimFault(args, help)
	}
	return ""
}

var (
	usageLine = regexp.MustCompile(`(?m)^Usage:\n  flashclaim(.*?)(?: \[flags\])?$`)
	flagName  = regexp.MustCompile(`^--[a-z-]+`)
)

func flashclaimFault(args []string, help func(args []string) string) string {
	var names []string // the command and its arguments, without flags and their values
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && (i == 0 || !strings.HasPrefix(args[i-1], "--") || strings.Contains(args[i-1], "=")) {
			names = append(names, a)
		}
	}
	text := help(names)
	m := usageLine.FindStringSubmatch(text)
	if m == nil {
		return "it has no help"
	}
	usage := strings.Fields(m[1])
	for i, name := range names {
		if i >= len(usage) || name != usage[i] && usage[i] != strings.ToUpper(usage[i]) {
			return "flashclaim" + m[1] + " does not take " + name
		}
	}
	for _, a := range args {
		if name := flagName.FindString(a); name != "" && !strings.Contains(text, name+" ") && !strings.Contains(text, name+"\n") {
			return "there is no flag " + name
		}
	}
	return ""
}

// helpOf runs a command's --help.
func helpOf(args []string) string {
	var out bytes.Buffer
	none := func(string) (string, bool) { return "", false }
	if cli.Main(context.Background(), append(slices.Clone(args), "--help"), none, &out, &out) != 0 {
		return ""
	}
	return out.String()
}

// TestDocsTablesAreComplete compares the tables of settings and metrics with
// the program. go test ./internal/house -run TestDocsTables -update writes them.
func TestDocsTablesAreComplete(t *testing.T) {
	t.Parallel()
	const file = "docs/operations.md"
	root := moduleRoot(t)
	text := string(read(t, root, file))
	want := text
	for name, table := range map[string]string{"settings": settingsTable(), "metrics": metricsTable(t)} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, found := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the table of %s", file, name)
		}
		want = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, file), []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s differs from the program; write it with -update (-want +got):\n%s", file, diff)
	}
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("| flag | environment | default | meaning |\n|---|---|---|---|\n")
	for _, s := range config.Settings() {
		value := ""
		if s.Default != "" {
			value = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", s.Flag, s.Env, value, s.Usage)
	}
	return b.String()
}

var exposition = regexp.MustCompile(`(?m)^# HELP (flashclaim_\w+) (.*)\n# TYPE \S+ (\w+)\n\w+(?:\{(\w+)=)?`)

func metricsTable(t *testing.T) string {
	t.Helper()
	m := metrics.New()
	m.Backlog(0, 0, 0) // partitions show up when they are measured
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	var b strings.Builder
	b.WriteString("| metric | kind | label | meaning |\n|---|---|---|---|\n")
	for _, m := range exposition.FindAllStringSubmatch(answer.Body.String(), -1) {
		label := ""
		if m[4] != "" && m[4] != "le" {
			label = "`" + m[4] + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m[1], m[3], label, m[2])
	}
	return b.String()
}
