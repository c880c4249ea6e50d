//go:build unix

package testenv

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is the fixed number of hash slots of Redis Cluster.
const clusterSlots = 16384

// RedisCluster starts a private Redis Cluster of so many primaries, 1 or more,
// which share the hash slots evenly and have no replicas. It returns the nodes'
// URLs, "redis://127.0.0.1:PORT/0", when every node says that the cluster is
// ok. It is stopped by the test's cleanup.
func RedisCluster(tb testing.TB, nodes int) []string {
	tb.Helper()
	if nodes < 1 {
		tb.Fatalf("a cluster needs 1 node or more, not %d", nodes)
	}
	if _, err := redisProgram(); err != nil {
		missing(tb, err, redisVariable)
	}
	urls := make([]string, nodes)
	clients := make([]*redis.Client, nodes)
	busPorts := make([]int, nodes)
	for i := range nodes {
		urls[i], busPorts[i] = clusterNode(tb)
		clients[i] = redisClient(urls[i])
		defer func() { _ = clients[i].Close() }() // only asked and told
	}
	if err := joinCluster(clients, busPorts); err != nil {
		tb.Fatalf("join %d Redis nodes: %v", nodes, err)
	}
	Eventually(tb, answerWithin, "a Redis Cluster whose nodes agree", func() bool { return agree(clients) })
	return urls
}

func clusterNode(tb testing.TB) (url string, busPort int) {
	tb.Helper()
	var err error
	for range portTries {
		if busPort, err = freePort(); err != nil {
			break
		}
		var s *RedisServer
		s, err = newRedis(tempDir(tb, "node"), []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(busPort),
		})
		if err == nil {
			s.tb = tb
			tb.Cleanup(s.Stop)
			return s.url, busPort
		}
	}
	tb.Fatal(err)
	return "", 0
}

// joinCluster gives each node its share of the slots and its own epoch (equal
// epochs would make the nodes quarrel first), then introduces all to the first.
func joinCluster(clients []*redis.Client, busPorts []int) error {
	ctx := context.Background()
	for i, c := range clients {
		if err := c.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
		low, high := i*clusterSlots/len(clients), (i+1)*clusterSlots/len(clients)-1
		if err := c.ClusterAddSlotsRange(ctx, low, high).Err(); err != nil {
			return err
		}
	}
	for i, c := range clients[1:] {
		host, port, err := net.SplitHostPort(c.Options().Addr)
		if err != nil {
			return err
		}
		if err := clients[0].Do(ctx, "cluster", "meet", host, port, busPorts[i+1]).Err(); err != nil {
			return err
		}
	}
	return nil
}

// agree tells whether every node sees every other and all slots served.
func agree(clients []*redis.Client) bool {
	known := fmt.Sprintf("cluster_known_nodes:%d\r\n", len(clients))
	size := fmt.Sprintf("cluster_size:%d\r\n", len(clients))
	for _, c := range clients {
		info, err := c.ClusterInfo(context.Background()).Result()
		if err != nil || !strings.Contains(info, "cluster_state:ok\r\n") ||
			!strings.Contains(info, known) || !strings.Contains(info, size) {
			return false
		}
	}
	return true
}
