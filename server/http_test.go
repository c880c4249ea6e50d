package server_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	const graphqlType = "application/graphql-response+json"
	jsonBody := []string{"Content-Type", "application/json"}
	cases := []struct {
		name                string
		method, path, body  string
		headers             []string
		status              int
		code, contains, not string
	}{
		{name: "query", method: "POST", path: "/graphql", body: `{"query":"{whoami}"}`, headers: jsonBody, status: 200, contains: `{"data":{"whoami":null}}`},
		{name: "charset and unknown members", method: "POST", path: "/graphql", body: `{"query":"{whoami}","x":1}`, headers: []string{"Content-Type", "application/json; charset=utf-8"}, status: 200, contains: `"data"`},
		{name: "mutation", method: "POST", path: "/graphql", body: `{"query":"mutation{noop}"}`, headers: jsonBody, status: 200, contains: `{"data":{"noop":true}}`},
		{name: "GET query", method: "GET", path: "/graphql?query=query($t:String!){echo(text:$t)}&variables=%7B%22t%22:%22a%22%7D", status: 200, contains: `{"echo":"a"}`},
		{name: "GET mutation", method: "GET", path: "/graphql?query=mutation{noop}", status: 405, code: "BAD_USER_INPUT", not: `"data"`},
		{name: "GET without query", method: "GET", path: "/graphql", status: 400, code: "BAD_USER_INPUT"},
		{name: "GET bad variables", method: "GET", path: "/graphql?query={whoami}&variables=1", status: 400, contains: "variables must be"},
		{name: "wrong method", method: "DELETE", path: "/graphql", status: 405},
		{name: "wrong content type", method: "POST", path: "/graphql", body: "query={whoami}", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415},
		{name: "no content type", method: "POST", path: "/graphql", body: `{"query":"{whoami}"}`, status: 415},
		{name: "malformed body is not echoed", method: "POST", path: "/graphql", body: `{"query":"{whoami}", "password": "hunter2"`, headers: jsonBody, status: 400, code: "BAD_USER_INPUT", not: "hunter2"},
		{name: "wrong shape is not echoed", method: "POST", path: "/graphql", body: `{"query":5, "password": "hunter2"}`, headers: jsonBody, status: 400, not: "hunter2"},
		{name: "two bodies", method: "POST", path: "/graphql", body: `{"query":"{whoami}"}{}`, headers: jsonBody, status: 400},
		{name: "too large", method: "POST", path: "/graphql", body: `{"query":"` + strings.Repeat(" ", 64<<10) + `{whoami}"}`, headers: jsonBody, status: 413, code: "BAD_USER_INPUT"},
		{name: "subscription by plain POST", method: "POST", path: "/graphql", body: `{"query":"subscription{ticks}"}`, headers: jsonBody, status: 400, contains: "websocket"},
		{name: "invalid document, JSON", method: "POST", path: "/graphql", body: `{"query":"{nothing}"}`, headers: jsonBody, status: 200, code: "GRAPHQL_VALIDATION_FAILED", not: `"data"`},
		{name: "invalid document, newer type", method: "POST", path: "/graphql", body: `{"query":"{nothing}"}`, headers: append([]string{"Accept", graphqlType}, jsonBody...), status: 400, not: `"data"`},
		{name: "no suggestion without introspection", method: "POST", path: "/graphql", body: `{"query":"{whoam}"}`, headers: jsonBody, status: 200, not: "Did you mean"},
		{name: "no suggestion for an argument", method: "POST", path: "/graphql", body: `{"query":"{echo(tex:\"\")}"}`, headers: jsonBody, status: 200, not: "Did you mean"},
		{name: "no introspection", method: "POST", path: "/graphql", body: `{"query":"{__schema{types{name}}}"}`, headers: jsonBody, status: 200, not: `"types":[`},
		{name: "too many tokens", method: "POST", path: "/graphql", body: `{"query":"{` + strings.Repeat("whoami ", 2100) + `}"}`, headers: jsonBody, status: 200, code: "GRAPHQL_PARSE_FAILED"},
		{name: "too complex", method: "POST", path: "/graphql", body: `{"query":"{` + strings.Repeat("nest{", 500) + "leaf" + strings.Repeat("}", 500) + `}"}`, headers: jsonBody, status: 200, code: "TOO_COMPLEX", not: "data\":{"},
		{name: "panicking resolver", method: "POST", path: "/graphql", body: `{"query":"{panic whoami}"}`, headers: jsonBody, status: 200, not: "on purpose", contains: "internal server error"},
		{name: "unknown path", method: "GET", path: "/nothing", status: 404, code: "NOT_FOUND"},
		{name: "no playground", method: "GET", path: "/playground", status: 404},
		{name: "no metrics", method: "GET", path: "/metrics", status: 404},
		{name: "livez", method: "GET", path: "/livez", status: 200, contains: "ok"},
		{name: "h2c upgrade is ignored", method: "POST", path: "/graphql", body: `{"query":"{whoami}"}`, headers: append([]string{"Connection", "Upgrade", "Upgrade", "h2c"}, jsonBody...), status: 200, contains: `"data"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := b.do(c.method, c.path, c.body, c.headers...)
			if got.status != c.status {
				t.Errorf("status %d, want %d: %s", got.status, c.status, got.body)
			}
			if c.code != "" && got.code() != c.code {
				t.Errorf("code %q, want %q: %s", got.code(), c.code, got.body)
			}
			if !strings.Contains(got.body, c.contains) {
				t.Errorf("%s lacks %s", got.body, c.contains)
			}
			if c.not != "" && strings.Contains(got.body, c.not) {
				t.Errorf("%s has %s", got.body, c.not)
			}
			if got.header.Get("X-Request-Id") == "" {
				t.Error("the answer has no request ID")
			}
		})
	}
}

func TestChunkedBodyIsLimitedToo(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	body := struct{ *strings.Reader }{strings.NewReader(strings.Repeat("x", 65<<10))} // hides its length
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/graphql", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	if got := b.post("{whoami}", "X-Request-Id", "abc-1.2:3_4").header.Get("X-Request-Id"); got != "abc-1.2:3_4" {
		t.Errorf("a well-formed request ID came back as %q", got)
	}
	for _, bad := range []string{"with space", strings.Repeat("x", 65), "quote\""} {
		if got := b.post("{whoami}", "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || len(got) != 26 {
			t.Errorf("for %q the request ID is %q, want a fresh one", bad, got)
		}
	}
}

func TestIdentityOverHTTP(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	token := b.token("ada")
	for _, authorization := range []string{"Bearer " + token, "bearer  " + token, token} {
		if got := b.post("{whoami}", "Authorization", authorization); got.body != `{"data":{"whoami":"ada"}}` {
			t.Errorf("%q: %s", authorization, got.body)
		}
	}
	got := b.post("{whoami}", "Authorization", "Bearer nonsense")
	if got.status != 401 || got.code() != "UNAUTHENTICATED" || got.header.Get("WWW-Authenticate") == "" {
		t.Errorf("an invalid token: %d %s %v", got.status, got.body, got.header)
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.AllowedOrigins = []string{"https://Shop.example/"} })
	preflight := func(origin string) http.Header {
		return b.do("OPTIONS", "/graphql", "", "Origin", origin, "Access-Control-Request-Method", "POST").header
	}
	if got := preflight("https://shop.example").Get("Access-Control-Allow-Origin"); got != "https://shop.example" {
		t.Errorf("a listed origin is answered with %q", got)
	}
	if got := preflight("https://evil.example").Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("an unlisted origin is answered with %q", got)
	}
	if _, got, err := b.tryDial([]string{"graphql-transport-ws"}, "Origin", "https://evil.example"); err == nil || got.status != 403 {
		t.Errorf("a socket from an unlisted origin: %d %v", got.status, err)
	}
	for _, origin := range []string{"https://shop.example", b.url, ""} {
		headers := []string{"Origin", origin}
		if origin == "" {
			headers = nil
		}
		if _, _, err := b.tryDial([]string{"graphql-transport-ws"}, headers...); err != nil {
			t.Errorf("a socket from %q: %v", origin, err)
		}
	}
}

func TestPlaygroundSchemaAndMetricsRoutes(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) {
		o.SDL = "type Query { a: Int }"
		o.Metrics = http.NotFoundHandler()
		o.Playground = &server.Playground{Query: "{whoami}"}
	})
	if got := b.do("GET", "/", ""); got.status != 302 || got.header.Get("Location") != "/playground" {
		t.Errorf("/ gives %d to %q", got.status, got.header.Get("Location"))
	}
	if got := b.do("GET", "/playground", ""); got.status != 200 || !strings.Contains(got.body, "graphiql.min.js") {
		t.Errorf("/playground gives %d %s", got.status, got.body)
	}
	if got := b.do("GET", "/schema.graphql", ""); got.body != "type Query { a: Int }" {
		t.Errorf("/schema.graphql gives %s", got.body)
	}
	if got := b.do("GET", "/metrics", ""); !strings.Contains(got.body, "page not found") {
		t.Errorf("/metrics did not reach its handler: %s", got.body)
	}
}

func TestIntrospectionWhereOn(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Introspection = true })
	got := b.post(graphiqlIntrospection)
	if got.status != 200 || got.code() != "" || !strings.Contains(got.body, `"name":"Subscription"`) {
		t.Errorf("GraphiQL's introspection: %d %.300s", got.status, got.body)
	}
	if got := b.post("{whoam}"); !strings.Contains(got.body, "Did you mean") {
		t.Errorf("a typo is not helped: %s", got.body)
	}
}

// graphiqlIntrospection asks for as much as GraphiQL does when it starts.
const graphiqlIntrospection = `query IntrospectionQuery { __schema { description queryType { name kind } mutationType { name kind }
  subscriptionType { name kind } types { ...FullType } directives { name description isRepeatable locations
  args(includeDeprecated: true) { ...InputValue } } } }
fragment FullType on __Type { kind name description specifiedByURL isOneOf
  fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
  inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`

func TestAddressInUseIsOneSentence(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	verifier, _ := server.NewVerifier(secret)
	s, err := server.New(server.Options{Addr: taken.Addr().String(), Verifier: verifier, Schema: testschema.New(&testschema.Root{})})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	want := "the address " + taken.Addr().String() + " is in use by another program; stop that one or choose another with --addr"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNewNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := server.New(server.Options{Schema: &graphql.ExecutableSchemaMock{}}) // an API needs to know its callers
	for _, name := range []string{"Addr", "Verifier"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
