-- load_begin.lua opens the loading of a sale, unless it is loaded already or
-- being loaded by another.
--
-- KEYS[1]  sale    hash, see claim.lua; while it has a loader and no epoch, claims answer NOT_READY
-- KEYS[2]  stock   string
-- KEYS[3]  buyers  hash
-- ARGV[1]  token of this load, unique
-- ARGV[2]  lease_ms, how long the load may take
--
-- RETURNS PRESENT or LOADING (nothing was changed), or BEGUN. A load whose lease
-- is over was left by a dead process: the next BEGUN takes it over, and should
-- the earlier loader be alive after all, it hears LOST at its next step.

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'opens_ms', 'closes_ms', 'limit', 'pay_ms', 'loader', 'lease_until_ms')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
local marked = redis.call('HEXISTS', KEYS[3], '') == 1

-- Loaded means what it means to claim.lua, or a damaged sale would stay NOT_READY for ever.
if sale[1] and sale[2] and tonumber(sale[3] or '') and tonumber(sale[4] or '') and tonumber(sale[5] or '')
    and tonumber(sale[6] or '') and stock and marked then
  return 'PRESENT'
end
if sale[7] and now_ms < (tonumber(sale[8] or '') or 0) then return 'LOADING' end

redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'loader', ARGV[1], 'lease_until_ms', string.format('%.0f', now_ms + tonumber(ARGV[2])))
return 'BEGUN'
