package gate

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// decodeEntry reads what the claim script wrote. It never fails: an entry that
// cannot be read comes back with its fault and with as much of the order as
// could be read, so that the rest of the batch goes on.
func decodeEntry(partition int, m redis.XMessage) sale.Entry {
	e := sale.Entry{Partition: partition, StreamID: m.ID}
	d := decoder{values: m.Values}
	e.Order = sale.Order{Status: sale.StatusPending, Version: 1, Quantity: int(d.number("quantity", 1, 1<<53))}
	e.Order.ID = sale.OrderID(d.checked("order", func(s string) string {
		if id, err := sale.ParseOrderID(s); err != nil || id.Partition() != partition {
			return "names no order of this partition"
		}
		return ""
	}))
	e.Order.VoucherID = sale.VoucherID(d.checked("voucher", func(s string) string {
		if id, err := sale.ParseVoucherID(s); err != nil || id.Partition() != partition {
			return "names no voucher of this partition"
		}
		return ""
	}))
	e.Order.BuyerID = d.checked("buyer", sale.BuyerIDFault)
	e.Order.RequestID = d.checked("request", func(s string) string {
		if !sale.RequestIDWellFormed(s) {
			return "is not well formed"
		}
		return ""
	})
	e.Order.ClaimedAt = time.UnixMilli(d.number("claimed_ms", 0, maxMillis)).UTC()
	payBefore := time.UnixMilli(d.number("pay_before_ms", 0, maxMillis)).UTC()
	e.Order.PayBefore = &payBefore
	e.Epoch = d.number("epoch", 0, 1<<53)
	if d.faults != nil {
		e.Fault = errors.Join(d.faults...)
		e.Fields = texts(m.Values)
	}
	return e
}

type decoder struct {
	values map[string]any
	faults []error
}

func (d *decoder) text(field string) string {
	s, ok := d.values[field].(string)
	if !ok {
		d.faults = append(d.faults, fmt.Errorf("field %s is missing", field))
	}
	return s
}

// checked gives the field's text, or "" and a fault when it breaks the rule.
func (d *decoder) checked(field string, rule func(string) string) string {
	before := len(d.faults)
	s := d.text(field)
	if len(d.faults) > before {
		return ""
	}
	if fault := rule(s); fault != "" {
		d.faults = append(d.faults, fmt.Errorf("field %s %s", field, fault))
		return ""
	}
	return s
}

// maxMillis is the end of the year 9999: later times can neither be stored nor
// written in JSON.
const maxMillis = 253_402_300_799_999

func (d *decoder) number(field string, low, high int64) int64 {
	s, ok := d.values[field].(string)
	n, err := strconv.ParseInt(s, 10, 64)
	if !ok || err != nil || n < low || n > high {
		d.faults = append(d.faults, fmt.Errorf("field %s is not a whole number from %d to %d", field, low, high))
		return 0
	}
	return n
}

func texts(values map[string]any) map[string]string {
	fields := make(map[string]string, len(values))
	for k, v := range values {
		fields[k] = fmt.Sprint(v)
	}
	return fields
}
