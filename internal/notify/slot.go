package notify

import "sync"

// slot is a channel of one value in which the newest wins. put never blocks, so
// a reader that does not read costs nobody else anything.
type slot[T any] struct {
	mu     sync.Mutex
	ch     chan *T
	closed bool
}

func newSlot[T any]() *slot[T] { return &slot[T]{ch: make(chan *T, 1)} }

func (s *slot[T]) put(v *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(v)
}

func (s *slot[T]) putLocked(v *T) {
	if s.closed {
		return
	}
	select {
	case <-s.ch: // an older value that nobody read
	default:
	}
	s.ch <- v // cannot block: only put sends, and the slot is empty
}

func (s *slot[T]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.ch)
	}
}
