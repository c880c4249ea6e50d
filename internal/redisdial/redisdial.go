// Package redisdial opens Redis clients from a URL, in one way for the gate and
// the bell. It is the only place that knows how a single server, a cluster and
// a Sentinel-watched master are named, and which of go-redis's defaults are
// changed and why. It keeps no state.
package redisdial

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
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
	opts.DialerRetries = 1 // a refusal is told at once; whoever can wait repeats
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

var (
	errForm = errors.New("the Redis URL must look like redis://127.0.0.1:6379/0, redis://host1:6379,host2:6379 (a cluster) or redis+sentinel://host:26379/master")
	// errUnreadable stands for every fault of the URL's grammar: the text of the
	// fault quotes pieces of the URL, and such a piece may belong to a password.
	errUnreadable = errors.New("the Redis URL cannot be read; in a user or password, / ? # @ % are written %2F %3F %23 %40 %25")
)

func parseServers(scheme, rest string) (*redis.UniversalOptions, error) {
	u := &redis.UniversalOptions{}
	for _, node := range nodes(scheme, rest) {
		opt, err := parseNode(scheme, node)
		if err != nil {
			return nil, err
		}
		if len(u.Addrs) == 0 {
			u.DB, u.Username, u.Password, u.TLSConfig = opt.DB, opt.Username, opt.Password, opt.TLSConfig
		}
		u.Addrs = append(u.Addrs, opt.Addr)
	}
	if len(u.Addrs) > 1 && u.DB != 0 {
		return nil, errors.New("the Redis URL names a cluster, which has database 0 only")
	}
	return u, nil
}

// nodes gives each node of the list as a URL without its scheme. The list either
// repeats the whole URL for every node, or names the credentials in front of the
// first host and the path behind the last one for all.
func nodes(scheme, rest string) []string {
	if between := "," + scheme + "://"; strings.Contains(rest, between) {
		return strings.Split(rest, between)
	}
	credentials, hosts, path := part(rest)
	for i, host := range hosts {
		hosts[i] = credentials + host + path
	}
	return hosts
}

// part splits "user:pw@a:1,b:2/0" into "user:pw@", the hosts, and "/0".
func part(rest string) (credentials string, hosts []string, path string) {
	at := strings.LastIndexByte(rest, '@') + 1
	credentials, list := rest[:at], rest[at:]
	if slash := strings.IndexAny(list, "/?"); slash >= 0 {
		list, path = list[:slash], list[slash:]
	}
	return credentials, strings.Split(list, ","), path
}

func parseNode(scheme, node string) (*redis.Options, error) {
	credentials, hosts, _ := part(node)
	if strings.ContainsAny(credentials, "/?#") {
		return nil, errUnreadable
	}
	if len(hosts) != 1 || hosts[0] == "" {
		return nil, errForm
	}
	opt, err := redis.ParseURL(scheme + "://" + node)
	var grammar *url.Error
	switch {
	case errors.As(err, &grammar):
		return nil, errUnreadable
	case err != nil: // the database or an option, which stand behind the credentials
		return nil, fmt.Errorf("the Redis URL cannot be read: %w", err)
	case opt.DB < 0:
		return nil, fmt.Errorf("the Redis URL names database %d; the first one is 0", opt.DB)
	}
	if !dialable(opt.Addr) {
		return nil, errForm
	}
	return opt, nil
}

// dialable tells whether an address is a name or an IP with a port. A colon in a
// name is a password whose '@' was forgotten; the dialer's error would show it.
func dialable(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return false
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

func parseSentinel(rest string) (*redis.UniversalOptions, error) {
	credentials, hosts, path := part(rest)
	master, db, hasDB := strings.Cut(strings.Trim(path, "/"), "/")
	if master == "" || strings.Contains(path, "?") {
		return nil, errForm
	}
	u := &redis.UniversalOptions{MasterName: master}
	if hasDB {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return nil, errForm
		}
		u.DB = int(n)
	}
	for _, host := range hosts {
		opt, err := parseNode("redis", credentials+host)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(host, opt.Addr) { // a default was put in, and it is not the Sentinel's port
			return nil, errForm
		}
		u.Username, u.Password = opt.Username, opt.Password
		u.Addrs = append(u.Addrs, opt.Addr)
	}
	return u, nil
}
