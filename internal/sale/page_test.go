package sale_test

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestPageFaults(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]sale.Page{
		"negative first":    {First: -1},
		"negative last":     {Last: -1},
		"first too large":   {First: sale.MaxPage + 1},
		"last too large":    {Last: sale.MaxPage + 1},
		"both":              {First: 1, Last: 1},
		"not base64":        {After: "%"},
		"no identifier":     {After: base64.RawURLEncoding.EncodeToString([]byte("1700000000000."))},
		"a NUL in it":       {Before: base64.RawURLEncoding.EncodeToString([]byte("1700000000000.vch_\x00"))},
		"year out of range": {After: sale.Cursor{At: time.UnixMilli(1 << 55), ID: string(sale.NewOrderID(1, time.Now()))}.String()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var in *sale.InputError
			if _, err := page.Window(); !errors.As(err, &in) {
				t.Errorf("Window() of %+v gave %v, want an InputError", page, err)
			}
		})
	}
}

func TestPageWindow(t *testing.T) {
	t.Parallel()
	place := sale.Cursor{At: time.UnixMilli(1700000000123).UTC(), ID: string(sale.NewVoucherID(7, time.Now()))}
	for name, test := range map[string]struct {
		page sale.Page
		want sale.Window
	}{
		"nothing given": {sale.Page{}, sale.Window{Limit: sale.DefaultPage}},
		"forward":       {sale.Page{First: 3, After: place.String()}, sale.Window{Limit: 3, After: &place}},
		"backward":      {sale.Page{Last: 100, Before: place.String()}, sale.Window{Limit: 100, Backward: true, Before: &place}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.page.Window()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewSlice(t *testing.T) {
	t.Parallel()
	place := func(n int) sale.Cursor { return sale.Cursor{At: time.UnixMilli(int64(n)), ID: "x"} }
	cursor := &sale.Cursor{}
	for name, test := range map[string]struct {
		window         sale.Window
		rows, want     []int
		next, previous bool
	}{
		"first page":           {sale.Window{Limit: 2}, []int{9, 8, 7}, []int{9, 8}, true, false},
		"last page":            {sale.Window{Limit: 2, After: cursor}, []int{7}, []int{7}, false, true},
		"backward from middle": {sale.Window{Limit: 2, Backward: true, Before: cursor}, []int{7, 8, 9}, []int{8, 7}, true, true},
		"backward to the top":  {sale.Window{Limit: 2, Backward: true, Before: cursor}, []int{8, 9}, []int{9, 8}, true, false},
		"empty":                {sale.Window{Limit: 2}, nil, []int{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sale.NewSlice(test.window, test.rows, place)
			want := sale.Slice[int]{Items: test.want, Cursors: []string{}, HasNext: test.next, HasPrevious: test.previous}
			for _, n := range test.want {
				want.Cursors = append(want.Cursors, place(n).String())
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
