package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server/websocket"
)

func (s *Server) newGraphQL() http.Handler {
	o := s.options
	g := handler.New(o.Schema)
	g.AddTransport(s.sockets)
	g.AddTransport(overHTTP{
		expires: s.expiryOf,
		ending:  s.ending,
		silent:  o.Limits.StreamSilent,
		write:   o.Limits.Socket.WriteTime,
	})
	if o.ErrorPresenter != nil {
		g.SetErrorPresenter(o.ErrorPresenter)
	}
	if o.Recover != nil {
		g.SetRecoverFunc(o.Recover)
	}
	g.SetQueryCache(lru.New[*ast.QueryDocument](o.Limits.QueryCache))
	g.SetParserTokenLimit(o.Limits.Tokens)
	g.Use(extension.AutomaticPersistedQuery{Cache: lru.New[string](o.Limits.QueryCache)})
	g.Use(complexityLimit{o.Schema, o.Limits.Complexity})
	if o.Introspection {
		g.Use(extension.Introspection{})
	} else {
		g.SetDisableSuggestion(true)
		g.SetValidationRulesFn(rulesWithoutSuggestions)
	}
	g.AroundOperations(s.countStream)
	return g
}

func (s *Server) newSockets() *websocket.Transport {
	l := s.options.Limits.Socket
	return websocket.New(websocket.Config{
		InitTimeout:   l.InitTime,
		PingInterval:  l.PingInterval,
		WriteDeadline: l.WriteTime,
		ReadLimit:     l.ReadBytes,
		MaxStreams:    l.Streams,
		MaxSockets:    l.Sockets,
		Authorize: func(authorization string) (sale.Viewer, time.Time, error) {
			pass, err := s.options.Verifier.Verify(authorization)
			return pass.Viewer, pass.ExpiresAt, err
		},
		AllowOrigin: s.origins.allow,
		Observer:    s.options.Observer,
		Log:         s.options.Log,
	})
}

// countStream counts the subscriptions that run, on whatever transport, so that
// the drain can wait for them.
func (s *Server) countStream(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if graphql.GetOperationContext(ctx).Operation.Operation != ast.Subscription {
		return next(ctx)
	}
	s.streams.begin()
	ended := false
	defer func() { // next panicked; gqlgen recovers
		if p := recover(); p != nil {
			s.streams.end()
			panic(p)
		}
	}()
	responses := next(ctx)
	return func(ctx context.Context) (resp *graphql.Response) {
		defer func() {
			if resp == nil && !ended { // the end, or a panic
				ended = true
				s.streams.end()
			}
		}()
		return responses(ctx)
	}
}

// complexityLimit refuses operations above a complexity. gqlgen's own extension
// does the same, but files its figures with each operation, 400 bytes of every
// stream for nobody to read, and has a code of its own.
type complexityLimit struct {
	schema graphql.ExecutableSchema
	limit  int
}

// ExtensionName is the extension's name.
func (complexityLimit) ExtensionName() string { return "ComplexityLimit" }

// Validate accepts every schema.
func (complexityLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext refuses what is above the limit, with [sale.CodeTooComplex].
func (c complexityLimit) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	got := complexity.Calculate(ctx, c.schema, op.Operation, op.Variables)
	if got <= c.limit {
		return nil
	}
	return &gqlerror.Error{
		Message:    fmt.Sprintf("the operation has a complexity of %d, the limit is %d; ask for fewer fields at once", got, c.limit),
		Extensions: map[string]any{"code": sale.CodeTooComplex},
	}
}

// rulesWithoutSuggestions are the rules of validation without "did you mean":
// where introspection is off, the schema is not to be guessed from errors.
func rulesWithoutSuggestions() *rules.Rules {
	r := rules.NewDefaultRules()
	for name, quiet := range map[string]core.Rule{
		rules.FieldsOnCorrectTypeRule.Name: rules.FieldsOnCorrectTypeRuleWithoutSuggestions,
		rules.KnownArgumentNamesRule.Name:  rules.KnownArgumentNamesRuleWithoutSuggestions,
		rules.KnownTypeNamesRule.Name:      rules.KnownTypeNamesRuleWithoutSuggestions,
		rules.ScalarLeafsRule.Name:         rules.ScalarLeafsRuleWithoutSuggestions,
		rules.ValuesOfCorrectTypeRule.Name: rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
	} {
		r.RemoveRule(name)
		r.AddRule(quiet.Name, quiet.RuleFunc)
	}
	return r
}
