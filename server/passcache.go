package server

import (
	"sync"
	"time"
)

// Bounds of the cache. A usual token takes about 300 bytes, so both generations
// together stay around 10 MB; longer ones are checked each time.
const (
	passCacheSize  = 16_384 // tokens in one generation
	maxCachedToken = 1 << 10
)

// passCache remembers verified tokens, because a buyer sends the same one many
// times and the look-up costs a fraction of the check. The key is the whole
// token, so nothing but that very token is ever found; an entry is void from
// the token's expiry on.
//
// It has two generations: when the young one is full it becomes the old one,
// and what was not used in the meantime is forgotten. That bounds it without a
// list to maintain.
type passCache struct {
	mu         sync.RWMutex
	size       int
	young, old map[string]Pass
}

func newPassCache(size int) *passCache { return &passCache{size: size, young: map[string]Pass{}} }

func (c *passCache) get(token string, now time.Time) (Pass, bool) {
	c.mu.RLock()
	pass, ok := c.young[token]
	aged := false
	if !ok {
		pass, aged = c.old[token]
	}
	c.mu.RUnlock()
	if (!ok && !aged) || !now.Before(pass.ExpiresAt) {
		return Pass{}, false
	}
	if aged {
		c.put(token, pass)
	}
	return pass, true
}

func (c *passCache) put(token string, pass Pass) {
	if len(token) > maxCachedToken {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.size {
		c.old, c.young = c.young, make(map[string]Pass, c.size/4)
	}
	c.young[token] = pass
}
