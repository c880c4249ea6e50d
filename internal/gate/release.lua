-- release.lua gives an order's units back to stock, once.
--
-- KEYS[1]  sale    hash, see claim.lua
-- KEYS[2]  stock   string: units left
-- KEYS[3]  buyers  hash: buyer -> records "order|quantity|request"
-- ARGV[1]  buyer
-- ARGV[2]  order ID
--
-- RETURNS an array
--   RELEASED, units    the units are free again
--   NOOP               this buyer holds no unit by this order: it was released before, or never held one
--   NOT_READY          the sale is not loaded; a load counts the order out, or the release is asked for again
-- How many units come back is read from the record, never taken from the
-- caller. A record that names a request stays with quantity 0, so that a late
-- repeat of that request still answers with this order and takes nothing.

local buyer, order = ARGV[1], ARGV[2]
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
local buyers = redis.call('HMGET', KEYS[3], '', buyer)
local records = buyers[2]
if not (epoch and stock and buyers[1]) then return { 'NOT_READY' } end

local kept, count, freed = {}, 0, 0
for held_order, units, request in string.gmatch(records or '', '([^| ]+)|(%d+)|([^| ]*)') do
  count = count + 1
  if held_order == order then
    freed = freed + tonumber(units)
    if request ~= '' then kept[#kept + 1] = held_order .. '|0|' .. request end
  else
    kept[#kept + 1] = held_order .. '|' .. units .. '|' .. request
  end
end
if freed == 0 then return { 'NOOP' } end

-- Given-back requests are remembered only so far: a buyer who claims and
-- cancels for ever must not make the record grow for ever.
local excess = #kept - 100
if excess > 0 then
  local short = {}
  for _, record in ipairs(kept) do
    if excess > 0 and string.find(record, '|0|', 1, true) then
      excess = excess - 1
    else
      short[#short + 1] = record
    end
  end
  kept = short
end

redis.call('INCRBY', KEYS[2], freed)
if #kept == 0 then
  redis.call('HDEL', KEYS[3], buyer)
else
  redis.call('HSET', KEYS[3], buyer, table.concat(kept, ' '))
end
return { 'RELEASED', freed }
