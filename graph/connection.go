package graph

import (
	"github.com/flashclaim/flashclaim/graph/model"
	"github.com/flashclaim/flashclaim/internal/sale"
)

func page(first *int, after *string, last *int, before *string) sale.Page {
	return sale.Page{First: value(first), Last: value(last), After: value(after), Before: value(before)}
}

func voucherConnection(s sale.Slice[sale.Voucher]) *model.VoucherConnection {
	c := &model.VoucherConnection{
		Edges: make([]*model.VoucherEdge, len(s.Items)), Nodes: make([]*sale.Voucher, len(s.Items)),
		PageInfo: pageInfo(s.Cursors, s.HasNext, s.HasPrevious),
	}
	for i := range s.Items {
		c.Nodes[i] = &s.Items[i]
		c.Edges[i] = &model.VoucherEdge{Cursor: s.Cursors[i], Node: &s.Items[i]}
	}
	return c
}

func orderConnection(s sale.Slice[sale.Order]) *model.OrderConnection {
	c := &model.OrderConnection{
		Edges: make([]*model.OrderEdge, len(s.Items)), Nodes: make([]*sale.Order, len(s.Items)),
		PageInfo: pageInfo(s.Cursors, s.HasNext, s.HasPrevious),
	}
	for i := range s.Items {
		c.Nodes[i] = &s.Items[i]
		c.Edges[i] = &model.OrderEdge{Cursor: s.Cursors[i], Node: &s.Items[i]}
	}
	return c
}

func pageInfo(cursors []string, hasNext, hasPrevious bool) *model.PageInfo {
	info := &model.PageInfo{HasNextPage: hasNext, HasPreviousPage: hasPrevious}
	if n := len(cursors); n > 0 {
		info.StartCursor, info.EndCursor = &cursors[0], &cursors[n-1]
	}
	return info
}
