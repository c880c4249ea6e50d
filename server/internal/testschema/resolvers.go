package testschema

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Root resolves the test schema. The zero value works; the channels, where they
// are set, let a test wait for an exact moment.
type Root struct {
	Started chan struct{} // receives once for each stream that began
	Ended   chan struct{} // receives once for each stream whose producer is gone
	Hold    chan struct{} // noop answers only after a receive from it
	Stuck   chan struct{} // a stream begins only after a receive from it, whatever its context says
}

// New makes the executable schema.
func New(root *Root) graphql.ExecutableSchema { return NewExecutableSchema(Config{Resolvers: root}) }

// Mutation is the root of mutations.
func (r *Root) Mutation() MutationResolver { return mutations{r} }

// Query is the root of queries.
func (r *Root) Query() QueryResolver { return queries{} }

// Subscription is the root of subscriptions.
func (r *Root) Subscription() SubscriptionResolver { return subscriptions{r} }

type (
	mutations     struct{ root *Root }
	queries       struct{}
	subscriptions struct{ root *Root }
)

func (m mutations) Noop(context.Context) (bool, error) {
	if m.root.Hold != nil {
		notify(m.root.Started)
		<-m.root.Hold
	}
	return true, nil
}

func (queries) Whoami(ctx context.Context) (*string, error) {
	v, ok := sale.ViewerFrom(ctx)
	if !ok {
		return nil, nil
	}
	return &v.BuyerID, nil
}

func (queries) Echo(_ context.Context, text string) (string, error) { return text, nil }

func (queries) Panic(context.Context) (*string, error) { panic("the resolver panics on purpose") }

func (queries) Nest(context.Context) (*Nest, error) {
	n := &Nest{Leaf: 1}
	n.Nest = n
	return n, nil
}

func (s subscriptions) Ticks(ctx context.Context, upTo *int) (<-chan int, error) {
	ticks := make(chan int, 1)
	go func() {
		defer notify(s.root.Ended)
		defer close(ticks)
		last := 1
		if upTo != nil {
			last = *upTo
		}
		for i := 1; i <= last; i++ {
			select {
			case ticks <- i:
			case <-ctx.Done():
				return
			}
		}
		if upTo == nil {
			<-ctx.Done()
		}
	}()
	notify(s.root.Started)
	if s.root.Stuck != nil {
		<-s.root.Stuck
	}
	return ticks, nil
}

func notify(c chan struct{}) {
	if c != nil {
		c <- struct{}{}
	}
}
