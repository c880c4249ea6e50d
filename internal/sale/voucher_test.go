package sale_test

import (
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestLiveAt(t *testing.T) {
	t.Parallel()
	opens := time.Date(2030, 1, 1, 10, 0, 0, 0, time.UTC)
	closes := opens.Add(time.Hour)
	for name, test := range map[string]struct {
		at        time.Time
		remaining int
		paused    bool
		want      sale.Live
	}{
		"a millisecond early":       {opens.Add(-time.Millisecond), 5, false, sale.Live{Remaining: 5, State: sale.StateScheduled}},
		"first instant":             {opens, 5, false, sale.Live{Remaining: 5, State: sale.StateOpen}},
		"last instant":              {closes.Add(-time.Millisecond), 5, false, sale.Live{Remaining: 5, State: sale.StateOpen}},
		"a millisecond late":        {closes, 5, false, sale.Live{Remaining: 5, State: sale.StateClosed}},
		"sold out":                  {opens, 0, false, sale.Live{State: sale.StateSoldOut}},
		"below zero is none":        {opens, -3, false, sale.Live{State: sale.StateSoldOut}},
		"paused":                    {opens, 5, true, sale.Live{Remaining: 5, State: sale.StatePaused}},
		"paused wins over window":   {closes, 0, true, sale.Live{State: sale.StatePaused}},
		"window wins over stock":    {closes, 0, false, sale.Live{State: sale.StateClosed}},
		"scheduled wins over stock": {opens.Add(-time.Hour), 0, false, sale.Live{State: sale.StateScheduled}},
		"in another zone":           {opens.In(time.FixedZone("", 8*3600)), 1, false, sale.Live{Remaining: 1, State: sale.StateOpen}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := sale.Voucher{OpensAt: opens, ClosesAt: closes, Paused: test.paused, Total: 10}
			if got := v.LiveAt(test.at, test.remaining); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestTimestampIsUTCAndMilliseconds(t *testing.T) {
	t.Parallel()
	in := time.Date(2030, 1, 1, 8, 0, 0, 999_999_999, time.FixedZone("", 8*3600))
	want := time.Date(2030, 1, 1, 0, 0, 0, 999_000_000, time.UTC)
	if got := sale.Timestamp(in); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPaymentWindowInSeconds(t *testing.T) {
	t.Parallel()
	if got := (sale.Voucher{PaymentWindow: 15 * time.Minute}).PaymentWindowSeconds(); got != 900 {
		t.Errorf("a quarter of an hour has %d seconds", got)
	}
}
