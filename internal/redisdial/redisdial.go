// Package redisdial opens Redis clients from a URL, in one way for the gate and
// the bell. It is the only place that knows how a single server, a cluster and
// a Sentinel-watched master are named, and which of go-redis's defaults are
// changed and why. It keeps no state.
package redisdial

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Purpose decides a client's time-outs and pool.
type Purpose struct {
	PoolSize int
	// Blocking says that the client waits in blocking reads. Such a read holds a
	// connection, so it never shares a client with anything urgent, and its
	// socket time-out must exceed the longest block.
	Blocking bool
}

// MaxBlock is the longest block that a blocking client may ask for. A context's
// end does not interrupt a blocking read, so this also bounds a shutdown.
const MaxBlock = time.Second

// Open makes a client from one of
//
//	redis://[user:password@]host:port/db      a single server (rediss:// for TLS)
//	redis://host1:port,host2:port,...         a cluster: several nodes to start from
//	redis+sentinel://[user:password@]host1:port,.../master/db
//
// It does no I/O: connections are opened when they are first needed. The error
// is one sentence and never shows a password.
func Open(rawURL string, p Purpose) (redis.UniversalClient, error) {
	opts, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	opts.PoolSize = p.PoolSize
	opts.DialTimeout = 2 * time.Second
	opts.ReadTimeout = 2 * time.Second
	opts.WriteTimeout = 2 * time.Second
	opts.PoolTimeout = time.Second
	if p.Blocking {
		opts.ReadTimeout = MaxBlock + 2*time.Second
	}
	// go-redis would run a command again after a lost reply and report success.
	// Every script here is replay-safe, so this only bounds the load.
	opts.MaxRetries = -1
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewUniversalClient(opts), nil
}

func parse(rawURL string) (*redis.UniversalOptions, error) {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		return nil, errForm
	}
	switch scheme {
	case "redis", "rediss":
		return parseServers(scheme, rest)
	case "redis+sentinel":
		return parseSentinel(rest)
	}
	return nil, errForm
}

var errForm = errors.New("the Redis URL must look like redis://127.0.0.1:6379/0, redis://host1:6379,host2:6379 (a cluster) or redis+sentinel://host:26379/master")

func parseServers(scheme, rest string) (*redis.UniversalOptions, error) {
	hosts, tail := splitHosts(rest)
	opt, err := redis.ParseURL(scheme + "://" + hosts[0] + tail)
	if err != nil {
		return nil, hidePassword(err)
	}
	u := &redis.UniversalOptions{
		Addrs: []string{opt.Addr}, DB: opt.DB, Username: opt.Username, Password: opt.Password, TLSConfig: opt.TLSConfig,
	}
	for _, h := range hosts[1:] {
		addr, _, _ := strings.Cut(strings.TrimPrefix(h, scheme+"://"), "/")
		u.Addrs = append(u.Addrs, addr)
	}
	if len(u.Addrs) > 1 && u.DB != 0 {
		return nil, errors.New("the Redis URL names a cluster, which has database 0 only")
	}
	return u, nil
}

func parseSentinel(rest string) (*redis.UniversalOptions, error) {
	hosts, tail := splitHosts(rest)
	opt, err := redis.ParseURL("redis://" + hosts[0])
	if err != nil {
		return nil, hidePassword(err)
	}
	path := strings.Split(strings.Trim(tail, "/"), "/")
	if path[0] == "" || len(path) > 2 {
		return nil, errForm
	}
	u := &redis.UniversalOptions{
		Addrs: append([]string{opt.Addr}, hosts[1:]...), MasterName: path[0], Username: opt.Username, Password: opt.Password,
	}
	if len(path) == 2 {
		if _, err := fmt.Sscanf(path[1], "%d", &u.DB); err != nil {
			return nil, errForm
		}
	}
	return u, nil
}

// splitHosts parts "user:pw@a:1,b:2/0" into its hosts and the path behind them;
// the credentials stay with the first.
func splitHosts(rest string) (hosts []string, tail string) {
	slash := strings.IndexAny(rest[strings.LastIndex(rest, "@")+1:], "/?")
	list := rest
	// A list may also repeat the scheme for every node; then slashes do not end it.
	if slash >= 0 && !strings.Contains(rest, ",redis") {
		slash += strings.LastIndex(rest, "@") + 1
		list, tail = rest[:slash], rest[slash:]
	}
	return strings.Split(list, ","), tail
}

func hidePassword(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("the Redis URL cannot be read: %w", err)
}
