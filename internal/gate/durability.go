package gate

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Durability names how much an acknowledged claim survives.
type Durability string

// The levels.
const (
	// DurabilityRelaxed accepts any Redis; a crash of Redis may lose accepted
	// claims without bound.
	DurabilityRelaxed Durability = "relaxed"
	// DurabilityEverysec wants an append-only file that is synced at least every
	// second: a crash of the machine loses about the last second.
	DurabilityEverysec Durability = "everysec"
	// DurabilityAlways wants every write synced before it is answered.
	DurabilityAlways Durability = "always"
)

// ErrNotDurable says that Redis is set up so that it cannot keep the promise of
// the chosen level.
type ErrNotDurable struct {
	Level  Durability
	Faults []string
}

// Error names every fault and the way out in one sentence.
func (e *ErrNotDurable) Error() string {
	return fmt.Sprintf("Redis does not keep the durability %q: %s; change that in Redis, or choose --durability relaxed and accept that a crash of Redis loses claims",
		e.Level, strings.Join(e.Faults, ", "))
}

// CheckDurability compares Redis's settings, on every master of a cluster, with
// the level. It returns an [ErrNotDurable] when they do not keep it, and
// warnings when they could not be read (a managed Redis may forbid CONFIG) or,
// with relaxed, what may be lost.
func (g *Gate) CheckDurability(ctx context.Context, level Durability) (warnings []string, err error) {
	check := func(ctx context.Context, node redis.Cmdable) error {
		faults, unread, err := durabilityFaults(ctx, node, level)
		switch {
		case err != nil:
			return err
		case unread != "":
			warnings = append(warnings, unread)
		case len(faults) > 0 && level == DurabilityRelaxed:
			warnings = append(warnings, "accepted claims may be lost when Redis stops: "+strings.Join(faults, ", "))
		case len(faults) > 0:
			return &ErrNotDurable{Level: level, Faults: faults}
		}
		return nil
	}
	if cluster, ok := g.client.(*redis.ClusterClient); ok {
		masters := make(chan struct{}, 1) // the nodes are asked one at a time: check appends
		masters <- struct{}{}
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			<-masters
			defer func() { masters <- struct{}{} }()
			return check(ctx, c)
		})
		return warnings, err
	}
	return warnings, check(ctx, g.client)
}

func durabilityFaults(ctx context.Context, node redis.Cmdable, level Durability) (faults []string, unread string, err error) {
	config := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "maxmemory-policy", "maxmemory"} {
		values, err := node.ConfigGet(ctx, name).Result()
		if err != nil {
			if isServerReply(err) {
				return nil, "Redis does not show its configuration (" + err.Error() + "), so its durability is not checked", nil
			}
			return nil, "", unavailable(err)
		}
		config[name] = values[name]
	}
	if config["appendonly"] != "yes" {
		faults = append(faults, "appendonly is "+config["appendonly"]+" and must be yes")
	}
	sync := config["appendfsync"]
	switch {
	case level == DurabilityAlways && sync != "always":
		faults = append(faults, "appendfsync is "+sync+" and must be always")
	case sync == "no":
		faults = append(faults, "appendfsync is no and must be everysec or always")
	}
	if policy := config["maxmemory-policy"]; policy != "noeviction" && config["maxmemory"] != "0" {
		faults = append(faults, "maxmemory-policy is "+policy+" and must be noeviction, or a full Redis throws stock and orders away")
	}
	return faults, "", nil
}

// isServerReply tells an answer of the server from a fault of the connection.
func isServerReply(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // go-redis returns it unwrapped
	return ok
}
