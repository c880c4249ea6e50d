package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cpuTimes is the processor time that each kind of process below this one has
// used: server, worker, redis, postgres, and load for the test itself.
func cpuTimes(tb testing.TB) map[string]time.Duration {
	tb.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	parents, used := map[int]int{}, map[int]time.Duration{}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, parent, ticks := parseStat(string(data))
		parents[pid] = parent
		used[pid] = time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on Linux
	}
	self := os.Getpid()
	total := map[string]time.Duration{"load": used[self]}
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == self {
				total[kindOf(pid)] += used[pid]
				break
			}
		}
	}
	return total
}

// parseStat reads a process's number, its parent's, and its user and system time
// in ticks. The name in parentheses may hold anything, so it is cut out first.
func parseStat(stat string) (pid, parent int, ticks int64) {
	_, after, _ := strings.Cut(stat, ") ")
	_, _ = fmt.Sscan(stat, &pid)
	f := strings.Fields(after)
	if len(f) < 13 {
		return pid, 0, 0
	}
	var user, system int64
	_, _ = fmt.Sscan(f[1], &parent)
	_, _ = fmt.Sscan(f[11], &user)
	_, _ = fmt.Sscan(f[12], &system)
	return pid, parent, user + system
}

func kindOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(string(line), "\x00")
	switch {
	case len(words) > 1 && (words[1] == "serve" || words[1] == "work"):
		return map[string]string{"serve": "server", "work": "worker"}[words[1]]
	case strings.Contains(words[0], "redis-server"):
		return "redis"
	case strings.Contains(words[0], "postgres"):
		return "postgres"
	}
	return "other"
}

// reportCPU reports what each kind of process used since before, in microseconds
// for each of n requests.
func reportCPU(b *testing.B, before map[string]time.Duration, n float64, suffix string) {
	b.Helper()
	var sum float64
	for kind, used := range cpuTimes(b) {
		each := float64((used - before[kind]).Microseconds()) / n
		sum += each
		if each >= 1 {
			b.ReportMetric(each, kind+suffix)
		}
	}
	b.ReportMetric(sum, "all"+suffix)
}
