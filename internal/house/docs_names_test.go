package house

import (
	"fmt"
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
	"github.com/flashclaim/flashclaim/internal/config"
)

// TestDocsNameEveryCode looks for every code that a client can meet on the page
// of the API.
func TestDocsNameEveryCode(t *testing.T) {
	t.Parallel()
	api := pageNamed(t, "docs/api.md").text
	schema := gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphqls", Input: graph.SDL})
	var codes []string
	for _, enum := range []string{"ClaimProblemCode", "OrderRejectionCode"} {
		for _, v := range schema.Types[enum].EnumValues {
			codes = append(codes, v.Name)
		}
	}
	root := moduleRoot(t)
	codes = append(codes, submatches(t, root, "internal/sale/errors.go", `Code\w+ +Code = "(\w+)"`)...)
	for _, code := range codes {
		if !strings.Contains(api, "`"+code+"`") {
			t.Errorf("docs/api.md does not name the code %s", code)
		}
	}
	for _, code := range append(submatches(t, root, "server/websocket/codes.go", `Close\w+ += (4\d\d\d)`), "1000", "1009", "1011", "1012") {
		if !strings.Contains(api, "| "+code+" |") {
			t.Errorf("docs/api.md does not name the close code %s", code)
		}
	}
}

// submatches gives all first groups of a pattern in a file, at least one.
func submatches(t *testing.T, root, file, pattern string) (found []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(read(t, root, file)), -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return found
}

var (
	testName     = regexp.MustCompile(`\bTest[A-Z]\w+`)
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	variableName = regexp.MustCompile(`\bFLASHCLAIM_\w+`)
	metricName   = regexp.MustCompile(`\bflashclaim_[a-z_]+`)
)

// TestDocsNameWhatExists fails when a page names a test, a variable or a metric
// that is not there any more.
func TestDocsNameWhatExists(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	known := []string{
		"FLASHCLAIM_CONFIG", "FLASHCLAIM_TEST_REDIS_URL", "FLASHCLAIM_TEST_DATABASE_URL",
		"TestName", // stands for any
	}
	for _, file := range sourceFiles(t, root) {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range testFunction.FindAllStringSubmatch(string(read(t, root, file)), -1) {
				known = append(known, m[1])
			}
		}
	}
	for _, s := range config.Settings() {
		known = append(known, s.Env)
	}
	known = append(known, metricName.FindAllString(metricsTable(t), -1)...)
	for _, p := range pages(t) {
		for _, name := range unknownNames(p.text, known) {
			t.Errorf("%s names %s, which does not exist", p.file, name)
		}
	}
}

func unknownNames(text string, known []string) (unknown []string) {
	for _, kind := range []*regexp.Regexp{testName, variableName, metricName} {
		for _, name := range kind.FindAllString(text, -1) {
			if !slices.Contains(known, name) {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown
}

// TestDocsDecisionsAreNumbered keeps the form of the decision records.
func TestDocsDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	records, err := filepath.Glob(filepath.Join(moduleRoot(t), "docs", "adr", "*.md"))
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, file := range records {
		name := path.Base(filepath.ToSlash(file))
		text := string(read(t, filepath.Dir(file), name))
		form := regexp.MustCompile(`^# ` + strings.TrimLeft(name[:4], "0") + `\. .+\n\n\d{4}-\d\d-\d\d, (accepted|replaced by .+)\n`)
		if !form.MatchString(text) {
			t.Errorf("%s does not begin with its number, title, date and status", name)
		}
		if want := i + 1; !strings.HasPrefix(text, fmt.Sprintf("# %d.", want)) {
			t.Errorf("%s: number %d is missing or there twice", name, want)
		}
		for _, part := range []string{"**Problem.**", "**Choice.**", "**Given up.**", "**To undo.**"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no part %s", name, part)
			}
		}
	}
}

func TestFalsePagesAreReported(t *testing.T) {
	t.Parallel()
	p := newPage("docs/a.md", strings.Join([]string{
		"# A page, with `code`",
		"[1](b.md) [2](b.md#here-it-is) [3](#a-page-with-code) [4](https://example.com/x)",
		"[5](c.md) [6](b.md#there) [7](#elsewhere)",
		"```sh", "[ -e x ](no-link)", "flashclaim migrate down", "```",
		"`flashclaim voucher show vch_1` `flashclaim voucher list --first=5` `flashclaim token --buyer a`",
		"`flashclaim voucher list vch_1` `flashclaim token --buyers a` `flashclaim sell` `make love`",
		"`flashclaim schema 1`",
	}, "\n"))
	files := map[string]string{"docs/b.md": "## Here it is\n"}
	links := deadLinks(p, func(file string) (string, bool) { text, ok := files[file]; return text, ok })
	if diff := cmp.Diff([]string{
		"docs/a.md: c.md leads nowhere", "docs/a.md: b.md#there leads nowhere", "docs/a.md: #elsewhere leads nowhere",
	}, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	var faults []string
	for _, words := range commandsOn(p) {
		if fault := commandFault(words, "\ntest: x\n", helpOf); fault != "" {
			faults = append(faults, fault)
		}
	}
	if diff := cmp.Diff([]string{
		"flashclaim migrate does not take down", "flashclaim voucher list does not take vch_1", "there is no flag --buyers",
		"flashclaim does not take sell", "make has no target love", "flashclaim schema does not take 1",
	}, faults); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	got := unknownNames("TestOne TestTwo FLASHCLAIM_X flashclaim_y_total", []string{"TestOne"})
	if diff := cmp.Diff([]string{"TestTwo", "FLASHCLAIM_X", "flashclaim_y_total"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
