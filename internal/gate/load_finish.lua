-- load_finish.lua opens a loaded sale to claims.
--
-- KEYS[1]  sale    hash, see claim.lua
-- KEYS[2]  stock   string: units left
-- KEYS[3]  buyers  hash: gets the field '' so that it exists even with no buyer
-- ARGV[1]  token of this load
-- ARGV[2]  epoch
-- ARGV[3]  state: open or paused
-- ARGV[4]  opens_ms
-- ARGV[5]  closes_ms
-- ARGV[6]  limit, units one buyer may hold
-- ARGV[7]  pay_ms, payment window
-- ARGV[8]  total
-- ARGV[9]  stock
--
-- RETURNS LOADED, or LOST when another load took over (nothing was changed).

if redis.call('HGET', KEYS[1], 'loader') ~= ARGV[1] then return 'LOST' end
redis.call('SET', KEYS[2], ARGV[9])
redis.call('HSET', KEYS[3], '', '')
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'state', ARGV[3], 'opens_ms', ARGV[4], 'closes_ms', ARGV[5],
  'limit', ARGV[6], 'pay_ms', ARGV[7], 'total', ARGV[8])
redis.call('HDEL', KEYS[1], 'loader', 'lease_until_ms')
return 'LOADED'
