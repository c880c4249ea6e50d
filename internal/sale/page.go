package sale

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sizes of one page of a list.
const (
	DefaultPage = 20  // items, when the caller names no number
	MaxPage     = 100 // items, at most
)

// Page asks for a part of a list, newest first, the way a Relay connection does:
// forward with First and After, or backward with Last and Before. Zero and ""
// mean not given. A cursor of the other direction only bounds the list.
type Page struct {
	First, Last   int
	After, Before string // cursors, as a [Slice] gave them
}

// Window is a [Page] that was checked: how many items to read, from where.
type Window struct {
	Limit    int // items of the answer, 1 to MaxPage
	Backward bool
	After    *Cursor // only items behind it; nil means from the beginning
	Before   *Cursor // only items in front of it; nil means to the end
}

// Window checks the page. The error is an [InputError] that lists every fault:
// a negative number, one above [MaxPage], both First and Last, or a cursor that
// no list gave.
func (p Page) Window() (Window, error) {
	var c checker
	c.that(p.First == 0 || p.Last == 0, "last", "must not be given together with first")
	c.that(p.First >= 0 && p.First <= MaxPage, "first", fmt.Sprintf("must be from 1 to %d, not %d", MaxPage, p.First))
	c.that(p.Last >= 0 && p.Last <= MaxPage, "last", fmt.Sprintf("must be from 1 to %d, not %d", MaxPage, p.Last))
	w := Window{
		Limit: max(p.First, p.Last), Backward: p.Last > 0,
		After: c.cursor("after", p.After), Before: c.cursor("before", p.Before),
	}
	if len(c.faults) > 0 {
		return Window{}, &InputError{Faults: c.faults}
	}
	if w.Limit == 0 {
		w.Limit = DefaultPage
	}
	return w, nil
}

// Slice is the part of a list that a [Page] asked for, newest first.
type Slice[T any] struct {
	Items       []T
	Cursors     []string // of each item, opaque to clients
	HasNext     bool     // older items follow
	HasPrevious bool     // newer items lie in front
}

// NewSlice makes the answer from the rows that were read: at most Limit+1, in
// reading order (newest first, or oldest first when the window is read
// backward). The row above the limit only tells that there are more.
func NewSlice[T any](w Window, rows []T, place func(T) Cursor) Slice[T] {
	more := len(rows) > w.Limit
	rows = slices.Clone(rows[:min(len(rows), w.Limit)])
	s := Slice[T]{HasNext: more, HasPrevious: w.After != nil}
	if w.Backward {
		slices.Reverse(rows)
		s.HasNext, s.HasPrevious = w.Before != nil, more
	}
	s.Items, s.Cursors = rows, make([]string, len(rows))
	for i, row := range rows {
		s.Cursors[i] = place(row).String()
	}
	return s
}

// Cursor is a place in a list that is sorted by time, then by identifier. The
// identifier alone would not do: it sorts by time inside its partition only.
type Cursor struct {
	At time.Time
	ID string // a [VoucherID] or an [OrderID]
}

// String is the cursor as clients see it: letters, digits, '-' and '_'.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.At.UnixMilli(), 10) + "." + c.ID))
}

// ParseCursor reads what [Cursor.String] wrote and reports false for anything
// else, so that nothing but a time and an identifier reaches a query.
func ParseCursor(s string) (Cursor, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Cursor{}, false
	}
	ms, id, _ := strings.Cut(string(raw), ".")
	n, err := strconv.ParseInt(ms, 10, 64)
	c := Cursor{At: time.UnixMilli(n).UTC(), ID: id}
	return c, err == nil && plausible(c.At) && (wellFormed(id, voucherPrefix) || wellFormed(id, orderPrefix))
}

func (c *checker) cursor(field, s string) *Cursor {
	if s == "" {
		return nil
	}
	cursor, ok := ParseCursor(s)
	c.that(ok, field, "must be a cursor that this list gave")
	return &cursor
}
