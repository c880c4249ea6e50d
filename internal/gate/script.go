package gate

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed claim.lua
	claimSource string
	//go:embed release.lua
	releaseSource string
	//go:embed load_begin.lua
	loadBeginSource string
	//go:embed load_records.lua
	loadRecordsSource string
	//go:embed load_finish.lua
	loadFinishSource string
	//go:embed load_abandon.lua
	loadAbandonSource string
	//go:embed live.lua
	liveSource string
	//go:embed drop_consumer.lua
	dropConsumerSource string

	claimScript        = redis.NewScript(claimSource)
	releaseScript      = redis.NewScript(releaseSource)
	loadBeginScript    = redis.NewScript(loadBeginSource)
	loadRecordsScript  = redis.NewScript(loadRecordsSource)
	loadFinishScript   = redis.NewScript(loadFinishSource)
	loadAbandonScript  = redis.NewScript(loadAbandonSource)
	liveScript         = redis.NewScript(liveSource)
	dropConsumerScript = redis.NewScript(dropConsumerSource)
)

// once is a command that the client must not send a second time by itself. In
// cluster mode MaxRetries does not stop that; this method does.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run executes a script by its digest and, when the server does not know it (a
// restart or a failover empties the script cache), once by its source.
func run(ctx context.Context, c redis.UniversalClient, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := command(ctx, "evalsha", s.Hash(), keys, args)
	_ = c.Process(ctx, once{cmd})
	if !redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return cmd
	}
	cmd = command(ctx, "eval", sourceOf[s], keys, args)
	_ = c.Process(ctx, once{cmd})
	return cmd
}

var sourceOf = map[*redis.Script]string{
	claimScript: claimSource, releaseScript: releaseSource, loadBeginScript: loadBeginSource,
	loadRecordsScript: loadRecordsSource, loadFinishScript: loadFinishSource,
	loadAbandonScript: loadAbandonSource, liveScript: liveSource, dropConsumerScript: dropConsumerSource,
}

func command(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, name, script, len(keys))
	for _, k := range keys {
		line = append(line, k)
	}
	return redis.NewCmd(ctx, append(line, args...)...)
}

// reply is a script's answer: an array of strings and numbers, the first of
// which names the outcome.
type reply []any

func replyOf(cmd *redis.Cmd) (reply, error) {
	values, err := cmd.Slice()
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the script answered with an empty array")
	}
	return values, nil
}

func (r reply) text(i int) string {
	if i < len(r) {
		s, _ := r[i].(string)
		return s
	}
	return ""
}

func (r reply) number(i int) int64 {
	if i < len(r) {
		n, _ := r[i].(int64)
		return n
	}
	return 0
}
