package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/worker"
)

var (
	errAway    = sale.Unavailable(errors.New("refused on purpose"), "the test's service")
	errRefused = &sale.InputError{Faults: []sale.FieldFault{{Field: "entry", Reason: "is refused on purpose"}}}
)

// The ports below do what the real one does unless a function says otherwise.

type queue struct {
	worker.Queue
	read        func(ctx context.Context, partition int, consumer string, limit int, block time.Duration) ([]sale.Entry, error)
	reclaim     func()
	acknowledge func(ctx context.Context, partition int, settled []sale.Settled) (int64, error)
}

func (q *queue) Read(ctx context.Context, p int, consumer string, limit int, block time.Duration) ([]sale.Entry, error) {
	if q.read == nil {
		return q.Queue.Read(ctx, p, consumer, limit, block)
	}
	return q.read(ctx, p, consumer, limit, block)
}

func (q *queue) Reclaim(ctx context.Context, p int, consumer string, idle time.Duration, limit int) ([]sale.Entry, int, error) {
	if q.reclaim != nil {
		q.reclaim()
	}
	return q.Queue.Reclaim(ctx, p, consumer, idle, limit)
}

func (q *queue) Acknowledge(ctx context.Context, p int, settled []sale.Settled) (int64, error) {
	if q.acknowledge == nil {
		return q.Queue.Acknowledge(ctx, p, settled)
	}
	return q.acknowledge(ctx, p, settled)
}

type archive struct {
	worker.Archive
	settle func(ctx context.Context, entries []sale.Entry) error // an error refuses the entries
	reject func(e sale.Entry) error
	bury   func(d sale.DeadLetter) error
}

func (a *archive) Settle(ctx context.Context, v sale.VoucherID, entries []sale.Entry) ([]sale.Order, error) {
	if a.settle != nil {
		if err := a.settle(ctx, entries); err != nil {
			return nil, err
		}
	}
	return a.Archive.Settle(ctx, v, entries)
}

func (a *archive) Reject(ctx context.Context, e sale.Entry, code sale.RejectionCode) (sale.Order, error) {
	if a.reject != nil {
		if err := a.reject(e); err != nil {
			return sale.Order{}, err
		}
	}
	return a.Archive.Reject(ctx, e, code)
}

func (a *archive) Bury(ctx context.Context, d sale.DeadLetter) error {
	if a.bury != nil {
		if err := a.bury(d); err != nil {
			return err
		}
	}
	return a.Archive.Bury(ctx, d)
}

type stock struct {
	worker.Stock
	release func(o sale.Order) error // an error comes before anything is released
	trimmed func(n int64)
}

func (s *stock) Release(ctx context.Context, o sale.Order) (bool, error) {
	if s.release != nil {
		if err := s.release(o); err != nil {
			return false, err
		}
	}
	return s.Stock.Release(ctx, o)
}

func (s *stock) Trim(ctx context.Context, p int, before time.Time) (int64, error) {
	n, err := s.Stock.Trim(ctx, p, before)
	if err == nil && s.trimmed != nil {
		s.trimmed(n)
	}
	return n, err
}

type outbox struct {
	worker.Outbox
	due      func(ctx context.Context) error
	released func() error
}

func (o *outbox) ReleasesDue(ctx context.Context, limit int) ([]sale.Order, error) {
	if o.due != nil {
		if err := o.due(ctx); err != nil {
			return nil, err
		}
	}
	return o.Outbox.ReleasesDue(ctx, limit)
}

func (o *outbox) Released(ctx context.Context, ids []sale.OrderID) error {
	if o.released != nil {
		if err := o.released(); err != nil {
			return err
		}
	}
	return o.Outbox.Released(ctx, ids)
}

// source is what the gate believes to be the archive: the archive, and vouchers
// that only the gate knows or knows differently.
type source struct {
	*store.Archive
	mu   sync.Mutex
	more map[sale.VoucherID]sale.Voucher
}

func (s *source) add(v sale.Voucher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = map[sale.VoucherID]sale.Voucher{}
	}
	s.more[v.ID] = v
}

func (s *source) Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error) {
	s.mu.Lock()
	v, ok := s.more[id]
	s.mu.Unlock()
	if ok {
		return v, nil
	}
	return s.Archive.Voucher(ctx, id)
}

// times lets the first n calls fail.
func times(n int, err error) func() error {
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return nil
		}
		n--
		return err
	}
}

// observer keeps what it was told.
type observer struct {
	mu        sync.Mutex
	settled   []sale.Order
	reclaimed int
	lost      int
	missing   int
	buried    []sale.DeadLetter
}

func (o *observer) OrdersSettled(list []sale.Order, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settled = append(o.settled, list...)
}

func (o *observer) EntriesReclaimed(_, entries, lost int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reclaimed += entries
	o.lost += lost
}

func (o *observer) AcksMissing(_, entries int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missing += entries
}

func (o *observer) EntryBuried(d sale.DeadLetter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buried = append(o.buried, d)
}

// look reads the observer's fields undisturbed.
func look[T any](o *observer, read func(*observer) T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return read(o)
}

func letters(o *observer) []sale.DeadLetter { return append([]sale.DeadLetter(nil), o.buried...) }

// logbook counts the lines of a log.
type logbook struct {
	mu    sync.Mutex
	lines []slog.Record
}

func (l *logbook) Enabled(context.Context, slog.Level) bool { return true }
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logbook) WithGroup(string) slog.Handler            { return l }

func (l *logbook) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Clone())
	return nil
}

// count counts the lines with this message.
func (l *logbook) count(message string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.lines {
		if r.Message == message {
			n++
		}
	}
	return n
}
