package graph_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/flashclaim/flashclaim/graph"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// schemaOf is the schema as it was written, with GraphQL's own types.
func schemaOf(t *testing.T) *ast.Schema {
	t.Helper()
	s, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: graph.SDL})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// own gives the types that are ours.
func own(s *ast.Schema) map[string]*ast.Definition {
	types := map[string]*ast.Definition{}
	for name, d := range s.Types {
		if !d.BuiltIn && !strings.HasPrefix(name, "__") {
			types[name] = d
		}
	}
	return types
}

// TestSDLIsWhatIsServed: the printed schema and the one that answers are one.
func TestSDLIsWhatIsServed(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("schema.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(raw), graph.SDL); diff != "" {
		t.Errorf("the embedded schema is another one (-file +embedded):\n%s", diff)
	}
	if diff := cmp.Diff(sdlOf(schemaOf(t)), sdlOf(schema(&fakes{}).Schema())); diff != "" {
		t.Errorf("the generated code serves another schema; run go generate ./graph (-written +served):\n%s", diff)
	}
}

func sdlOf(s *ast.Schema) string {
	var out bytes.Buffer
	formatter.NewFormatter(&out).FormatSchema(s)
	return out.String()
}

// TestEverythingIsDescribed: what has no description is guessed at, and guesses
// become contracts.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	seen := 0
	check := func(what, description string) {
		seen++
		if strings.TrimSpace(description) == "" {
			t.Errorf("%s has no description", what)
		}
	}
	arguments := func(of string, list ast.ArgumentDefinitionList) {
		for _, a := range list {
			check(of+"("+a.Name+":)", a.Description)
		}
	}
	for name, d := range own(s) {
		check(name, d.Description)
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue // GraphQL's own
			}
			check(name+"."+f.Name, f.Description)
			arguments(name+"."+f.Name, f.Arguments)
		}
		for _, v := range d.EnumValues {
			check(name+"."+v.Name, v.Description)
		}
	}
	for name, d := range s.Directives {
		if d.Position.Src.BuiltIn {
			continue
		}
		check("@"+name, d.Description)
		arguments("@"+name, d.Arguments)
	}
	if seen < 150 {
		t.Errorf("only %d descriptions were looked at; the walk is broken", seen)
	}
}

// TestEnumsAreTheDomains: an enum has exactly the domain's values. A value that
// means "unknown" would be told to clients as if it were a fact.
func TestEnumsAreTheDomains(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"Role":               {"ADMIN", "PAYMENT"},
		"SaleState":          texts(sale.StateScheduled, sale.StateOpen, sale.StatePaused, sale.StateSoldOut, sale.StateClosed),
		"OrderStatus":        texts(sale.StatusPending, sale.StatusCommitted, sale.StatusPaid, sale.StatusRedeemed, sale.StatusCancelled, sale.StatusExpired, sale.StatusRefunded, sale.StatusRejected),
		"OrderRejectionCode": texts(sale.RejectedSoldOut, sale.RejectedLimitReached, sale.RejectedNotFound, sale.RejectedInvalid),
		"ClaimProblemCode": texts(sale.ProblemSoldOut, sale.ProblemNotOpen, sale.ProblemClosed, sale.ProblemPaused, sale.ProblemLimitReached,
			sale.ProblemNotReady, sale.ProblemBusy, sale.ProblemRateLimited, sale.ProblemNotFound, sale.ProblemInvalid),
	}
	got := map[string][]string{}
	for name, d := range own(schemaOf(t)) {
		for _, v := range d.EnumValues {
			got[name] = append(got[name], v.Name)
			if v.Name == "UNKNOWN" || v.Name == "UNSPECIFIED" || v.Name == "OTHER" {
				t.Errorf("%s.%s says nothing", name, v.Name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-domain +schema):\n%s", diff)
	}
}

func texts[S ~string](values ...S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// TestSchemaIsWrittenByHand: no type, argument or directive comes from a
// generator that shows rows: an order exists before its row does.
func TestSchemaIsWrittenByHand(t *testing.T) {
	t.Parallel()
	s := schemaOf(t)
	for name := range s.Directives {
		if strings.HasPrefix(name, "go") {
			t.Errorf("the directive @%s shows how the server is built", name)
		}
	}
	for name, d := range own(s) {
		for _, mark := range []string{"WhereInput", "OrderField", "Cursor", "Ent"} {
			if strings.HasSuffix(name, mark) {
				t.Errorf("the type %s looks generated", name)
			}
		}
		for _, f := range d.Fields {
			if f.Name == "where" || f.Arguments.ForName("where") != nil || f.Arguments.ForName("orderBy") != nil {
				t.Errorf("%s.%s filters by columns", name, f.Name)
			}
		}
	}
}
