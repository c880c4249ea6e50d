package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// overHTTP is the gqlgen transport for requests that are not websockets: POST,
// GET for queries, and either of them answered as a stream of server-sent
// events. gqlgen's own transports are not used, because they echo a malformed
// body with whatever secrets it holds, run a subscription for its first event,
// and read bodies without bound.
//
// The status follows the GraphQL over HTTP draft: a request that cannot be
// executed is 400 and has no data member, except that plain application/json
// gets 200 for it, as its older clients expect.
type overHTTP struct {
	expires func(r *http.Request) (time.Time, bool) // the token's expiry, if there is a token
	ending  <-chan struct{}                         // closed when streams must end
	silent  time.Duration                           // after which a stream gets a comment
	write   time.Duration                           // deadline of one event
}

var _ graphql.Transport = overHTTP{}

// Supports takes whatever the transports before it did not want.
func (overHTTP) Supports(*http.Request) bool { return true }

// Do answers one request.
func (h overHTTP) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	params := paramsPool.Get().(*graphql.RawParams)
	defer func() {
		*params = graphql.RawParams{}
		paramsPool.Put(params)
	}()
	w.Header()["Content-Type"] = jsonType // also for what gqlgen writes after a panic
	params.ReadTime.Start = graphql.Now()
	if fault := readParams(r, params); fault != nil {
		if fault.allow != "" {
			w.Header().Set("Allow", fault.allow)
		}
		writeFault(w, r, fault.status, sale.CodeBadUserInput, fault.message)
		return
	}
	params.Headers = r.Header
	params.ReadTime.End = graphql.Now()

	answer := accepted(r.Header.Get("Accept"))
	op, errs := exec.CreateOperationContext(r.Context(), params)
	if errs != nil {
		refuseOperation(w, r, answer, exec.DispatchError(graphql.WithOperationContext(r.Context(), op), errs))
		return
	}
	kind := op.Operation.Operation
	switch {
	case r.Method == http.MethodGet && kind == ast.Mutation:
		w.Header().Set("Allow", http.MethodPost)
		writeFault(w, r, http.StatusMethodNotAllowed, sale.CodeBadUserInput, "a mutation must be sent with POST")
	case answer == typeEvents:
		h.stream(w, r, exec, op)
	case kind == ast.Subscription:
		writeFault(w, r, http.StatusBadRequest, sale.CodeBadUserInput, "a subscription needs a websocket "+
			"(sub-protocol graphql-transport-ws) or the header Accept: "+typeEvents)
	default:
		w.Header()["Content-Type"] = contentType(answer)
		responses, ctx := exec.DispatchOperation(r.Context(), op)
		writeJSON(w, responses(ctx))
	}
}

var (
	paramsPool = sync.Pool{New: func() any { return &graphql.RawParams{} }}
	bodyPool   = sync.Pool{New: func() any { return &bytes.Buffer{} }}

	jsonType    = []string{typeJSON + "; charset=utf-8"}
	graphqlType = []string{typeGraphQL + "; charset=utf-8"}
)

func contentType(answer string) []string {
	if answer == typeGraphQL {
		return graphqlType
	}
	return jsonType
}

// refuseOperation answers a document that cannot be run.
func refuseOperation(w http.ResponseWriter, r *http.Request, answer string, resp *graphql.Response) {
	w.Header()["Content-Type"] = contentType(errorType(r))
	if answer != typeJSON {
		w.WriteHeader(http.StatusBadRequest)
	}
	writeJSON(w, struct {
		Errors     gqlerror.List  `json:"errors"`
		Extensions map[string]any `json:"extensions,omitempty"`
	}{resp.Errors, resp.Extensions})
}

// paramsFault says why the parameters of a request cannot be read.
type paramsFault struct {
	status  int
	message string
	allow   string // for 405
}

func readParams(r *http.Request, params *graphql.RawParams) *paramsFault {
	switch r.Method {
	case http.MethodPost:
		return readBody(r, params)
	case http.MethodGet:
		return readQuery(r, params)
	}
	return &paramsFault{http.StatusMethodNotAllowed, "use POST, or GET for queries", "GET, POST"}
}

func readBody(r *http.Request, params *graphql.RawParams) *paramsFault {
	kind := r.Header.Get("Content-Type")
	if kind != typeJSON { // spares the usual request the parsing
		kind, _, _ = mime.ParseMediaType(kind)
	}
	if kind != typeJSON {
		return &paramsFault{status: http.StatusUnsupportedMediaType, message: "the Content-Type must be " + typeJSON}
	}
	body := bodyPool.Get().(*bytes.Buffer)
	defer func() {
		body.Reset()
		bodyPool.Put(body)
	}()
	if _, err := body.ReadFrom(r.Body); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return bodyTooLarge(tooLarge.Limit)
		}
		return &paramsFault{status: http.StatusBadRequest, message: "the request body ended early"}
	}
	if err := decodeOne(body, params); err != nil {
		return &paramsFault{status: http.StatusBadRequest, message: "the request body must be one JSON object with " +
			"query (a string) and optionally operationName, variables and extensions"}
	}
	return nil
}

// decodeOne reads exactly one JSON value. Numbers keep their digits.
func decodeOne(r io.Reader, into any) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func readQuery(r *http.Request, params *graphql.RawParams) *paramsFault {
	query := r.URL.Query()
	params.Query = query.Get("query")
	params.OperationName = query.Get("operationName")
	for name, into := range map[string]*map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		if err := decodeOne(bytes.NewReader([]byte(text)), into); err != nil {
			return &paramsFault{status: http.StatusBadRequest, message: name + " must be one JSON object"}
		}
	}
	if params.Query == "" && params.Extensions["persistedQuery"] == nil {
		return &paramsFault{status: http.StatusBadRequest, message: "the parameter query is missing"}
	}
	return nil
}
