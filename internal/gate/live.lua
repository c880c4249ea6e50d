-- live.lua reads what moves of a sale, with the clock that judges it.
--
-- KEYS[1]  sale   hash, see claim.lua
-- KEYS[2]  stock  string: units left
--
-- RETURNS an array: now_ms, units left, state; only now_ms when the sale is not
-- loaded. Changes nothing.

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'state')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
if not (sale[1] and sale[2] and stock) then return { now_ms } end
return { now_ms, stock, sale[2] }
