//go:build unix

package testenv

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below the range that kernels give to outgoing
// connections (32768 and up on Linux), so that a server which was stopped finds
// its port still free when it is started again.
const lowestPort, highestPort = 20000, 32000

var (
	portsMu    sync.Mutex
	portsTaken = map[int]bool{}
)

// freePort finds a port on 127.0.0.1 that nobody listens on and that no test of
// this binary was given before. Another process may still be faster; who uses
// the port must be ready to ask for another.
func freePort() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if portsTaken[port] {
			continue
		}
		l, err := net.Listen("tcp", hostPort(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		portsTaken[port] = true
		return port, nil
	}
	return 0, errors.New("no port between 20000 and 32000 is free on 127.0.0.1")
}

func hostPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
