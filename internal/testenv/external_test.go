//go:build unix

package testenv

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// recorder stands for the test that a helper ends. Fatal and Skip panic with
// the recorder, because they may not return.
type recorder struct {
	testing.TB
	fatal, skipped string
}

func (*recorder) Helper()                     {}
func (r *recorder) Fatal(a ...any)            { r.fatal = fmt.Sprint(a...); panic(r) }
func (r *recorder) Skip(a ...any)             { r.skipped = fmt.Sprint(a...); panic(r) }
func (r *recorder) Cleanup(func())            {}
func (r *recorder) Name() string              { return "recorder" }
func (r *recorder) Failed() bool              { return r.fatal != "" }
func (r *recorder) Fatalf(f string, a ...any) { r.Fatal(fmt.Sprintf(f, a...)) }

// part gives a test another name.
type part struct {
	testing.TB
	name string
}

func (p part) Name() string { return p.name }

// record runs a helper and returns what it told the test.
func record(helper func(tb testing.TB)) (r *recorder) {
	r = &recorder{}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	helper(r)
	return r
}

func TestEventuallySaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	r := record(func(tb testing.TB) {
		Eventually(tb, time.Millisecond, "the moon", func() bool { return false })
	})
	if want := "waited 1ms in vain for the moon"; r.fatal != want {
		t.Errorf("got %q, want %q", r.fatal, want)
	}
	asked := 0
	Eventually(t, time.Minute, "the third question", func() bool { asked++; return asked == 3 })
}

func TestExternalRedis(t *testing.T) {
	t.Parallel()
	s := privateRedis(t, nil)
	nine := strings.TrimSuffix(s.URL(), "/0") + "/9"
	ctx := context.Background()
	if err := client(t, nine).Set(ctx, "leftover", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name           string
		use            func(tb testing.TB)
		fatal, skipped string
	}{
		{"database 0 is not emptied", func(tb testing.TB) { externalRedis(tb, s.URL(), nil) }, "database number", ""},
		{"not a URL", func(tb testing.TB) { externalRedis(tb, "localhost:6379", nil) }, "not the URL of a Redis", ""},
		{"arguments", func(tb testing.TB) { externalRedis(tb, nine, []string{"--save", "1 1"}) }, "", "configured"},
		{"kill", func(tb testing.TB) { (&RedisServer{tb: tb, url: nine}).Kill() }, "", "stopped or paused"},
		{"missing programs", func(tb testing.TB) { missing(tb, errNoRedis, "FLASHCLAIM_TEST_UNSET") }, "`make test`", ""},
	}
	for _, c := range cases {
		r := record(c.use)
		if (c.fatal == "") != (r.fatal == "") || !strings.Contains(r.fatal, c.fatal) {
			t.Errorf("%s: failure %q, want one with %q", c.name, r.fatal, c.fatal)
		}
		if (c.skipped == "") != (r.skipped == "") || !strings.Contains(r.skipped, c.skipped) {
			t.Errorf("%s: skip %q, want one with %q", c.name, r.skipped, c.skipped)
		}
	}
	lent := externalRedis(t, nine, nil)
	if r := record(func(tb testing.TB) { externalRedis(part{tb, t.Name() + "/step"}, nine, nil) }); !strings.Contains(r.skipped, "several") {
		t.Errorf("a step of a test that has the server would wait for it: %+v", r)
	}
	if n, err := client(t, lent.URL()).DBSize(ctx).Result(); n != 0 || err != nil {
		t.Errorf("the lent database has %d keys, %v; want it empty", n, err)
	}
}
