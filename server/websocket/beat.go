package websocket

import (
	"time"

	gorilla "github.com/gorilla/websocket"
)

// beat is the socket's one timer. It fires when connection_init is overdue,
// then at each ping, then at the token's expiry.
func (c *conn) beat() {
	now := time.Now()
	c.mu.Lock()
	ready, b := c.streams.ready, c.bearer
	silent := !c.pinged.IsZero() && c.heard.Load() < c.pinged.UnixNano()
	closing := c.closing
	c.pinged = now
	c.mu.Unlock()

	switch {
	case closing:
	case !ready:
		c.shut(CloseInitTimeout, "Connection initialisation timeout")
	case b != nil && !now.Before(b.expires):
		c.shut(CloseForbidden, "Forbidden: the token has expired")
	case silent:
		c.drop()
	default:
		c.ping(now)
	}
}

// ping asks for a sign of life with a control frame, which every websocket
// library answers by itself.
func (c *conn) ping(now time.Time) {
	err := c.ws.WriteControl(gorilla.PingMessage, nil, now.Add(c.t.config.WriteDeadline))
	if err != nil {
		c.drop()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.timer.Reset(c.untilBeat(now))
	}
}

// untilBeat is the time to the next beat. The caller holds mu.
func (c *conn) untilBeat(now time.Time) time.Duration {
	if c.bearer == nil {
		return c.t.config.PingInterval
	}
	return min(c.t.config.PingInterval, max(c.bearer.expires.Sub(now), 0))
}
