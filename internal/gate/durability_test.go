package gate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestCheckDurability guards A12 and A13: a Redis that cannot keep the promise is
// found at the start, and each of its faults is named.
func TestCheckDurability(t *testing.T) {
	t.Parallel()
	b, _ := onRedisServer(t)
	const none, everysec, always = "appendonly is no", "appendfsync is no and", "must be always"
	for _, test := range []struct {
		aof, fsync, policy, memory string
		level                      gate.Durability
		faults                     []string
	}{
		{"no", "everysec", "noeviction", "0", gate.DurabilityEverysec, []string{none}},
		{"no", "no", "noeviction", "0", gate.DurabilityEverysec, []string{none, everysec}},
		{"no", "everysec", "noeviction", "0", gate.DurabilityAlways, []string{none, always}},
		{"yes", "everysec", "noeviction", "0", gate.DurabilityEverysec, nil},
		{"yes", "everysec", "noeviction", "0", gate.DurabilityAlways, []string{always}},
		{"yes", "no", "noeviction", "0", gate.DurabilityEverysec, []string{everysec}},
		{"yes", "always", "noeviction", "0", gate.DurabilityEverysec, nil},
		{"yes", "always", "noeviction", "0", gate.DurabilityAlways, nil},
		{"yes", "always", "noeviction", "100mb", gate.DurabilityAlways, nil},
		{"yes", "always", "allkeys-lru", "0", gate.DurabilityAlways, nil}, // nothing is ever thrown away
		{"yes", "always", "allkeys-lru", "100mb", gate.DurabilityAlways, []string{"maxmemory-policy is allkeys-lru"}},
		{"yes", "always", "volatile-ttl", "100mb", gate.DurabilityEverysec, []string{"maxmemory-policy is volatile-ttl"}},
	} {
		for name, value := range map[string]string{
			"appendonly": test.aof, "appendfsync": test.fsync, "maxmemory-policy": test.policy, "maxmemory": test.memory,
		} {
			b.config(t, name, value)
		}
		warnings, err := b.CheckDurability(t.Context(), test.level)
		var faults *gate.ErrNotDurable
		errors.As(err, &faults)
		if len(warnings) != 0 || (err == nil) != (len(test.faults) == 0) || (err != nil && (faults == nil || len(faults.Faults) != len(test.faults))) {
			t.Errorf("%+v: %v, %v", test, warnings, err)
			continue
		}
		for _, part := range test.faults {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v: %v", test, err)
			}
		}
		warnings, err = b.CheckDurability(t.Context(), gate.DurabilityRelaxed)
		relaxedFaults := test.aof == "no" || test.fsync == "no" || strings.Contains(strings.Join(test.faults, ""), "policy")
		if err != nil || (len(warnings) == 1) != relaxedFaults {
			t.Errorf("relaxed, %+v: %v, %v", test, warnings, err)
		}
	}
}

// TestDurabilityThatIsNotShown: a managed Redis may forbid CONFIG; that is worth a
// warning and no reason to refuse.
func TestDurabilityThatIsNotShown(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t)
	renamed, _ := onRedisServer(t, "--rename-command", "CONFIG", "")
	embedded, _ := onMiniredis(t)
	for name, unreadable := range map[string]*bundle{
		"no right": b.anotherUser(t, server, "-config"), "renamed": renamed, "embedded": embedded,
	} {
		for _, level := range []gate.Durability{gate.DurabilityRelaxed, gate.DurabilityEverysec, gate.DurabilityAlways} {
			warnings, err := unreadable.CheckDurability(t.Context(), level)
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "not checked") {
				t.Errorf("%s, %s: %v, %v", name, level, warnings, err)
			}
		}
	}
}

// TestDurabilityOfACluster: every master is asked.
func TestDurabilityOfACluster(t *testing.T) {
	t.Parallel()
	urls := testenv.RedisCluster(t, 3)
	b := newBundle(t, strings.Join(urls, ","))
	warnings, err := b.CheckDurability(t.Context(), gate.DurabilityRelaxed)
	if err != nil || len(warnings) != 3 {
		t.Errorf("got %v, %v", warnings, err)
	}
	for i, url := range urls {
		var faults *gate.ErrNotDurable
		if _, err := b.CheckDurability(t.Context(), gate.DurabilityEverysec); !errors.As(err, &faults) {
			t.Errorf("%d of 3 are durable: %v", i, err)
		}
		newBundle(t, url).config(t, "appendonly", "yes")
	}
	if warnings, err := b.CheckDurability(t.Context(), gate.DurabilityEverysec); err != nil || len(warnings) != 0 {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestDurabilityOfARedisThatIsAway(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t)
	server.Stop()
	if _, err := b.CheckDurability(t.Context(), gate.DurabilityRelaxed); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
}
