-- claim.lua decides one claim and records it, in one step.
--
-- KEYS[1]  sale     hash: epoch, state, opens_ms, closes_ms, limit, pay_ms
-- KEYS[2]  stock    string: units left
-- KEYS[3]  buyers   hash: buyer -> records "order|quantity|request", parted by a space; quantity 0 = given back;
--                   the field '' marks it as loaded: a lost hash must not read as "nobody holds anything"
-- KEYS[4]  orders   stream of accepted claims
-- KEYS[5]  pending  hash: order -> "voucher|quantity|claimed_ms|pay_before_ms|request|buyer"
-- ARGV[1]  buyer
-- ARGV[2]  order ID to give out when the claim is accepted
-- ARGV[3]  voucher ID
-- ARGV[4]  quantity, a whole number from 1
-- ARGV[5]  request ID, may be empty; never contains a space or '|'
-- ARGV[6]  largest number of accepted claims that may wait to be written down
--
-- RETURNS an array that starts with
--   ACCEPTED, claimed_ms, pay_before_ms
--   REPLAYED, order, quantity, units of this buyer    the same request came before; nothing was changed
--   LIMIT_REACHED, limit, order or ''                 '' when the buyer holds none: the quantity alone is too much
--   NOT_OPEN, opens_ms, now_ms | CLOSED, closes_ms | PAUSED
--   SOLD_OUT, units left | BUSY, waiting
--   NOT_READY                                         the sale is not loaded
--   INVALID, which argument
-- A refusal changes no key. All reads come first, because a read of a wrong
-- type then stops the script before its first write. The buyer's record is
-- written last: recorded earlier, a retry could return an order that was never
-- queued.

local buyer, order, voucher, request = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local quantity, max_backlog = tonumber(ARGV[4]), tonumber(ARGV[6])

if not quantity or quantity < 1 or quantity > 1000000 or quantity ~= math.floor(quantity) then
  return { 'INVALID', 'quantity' }
end
if not max_backlog then return { 'INVALID', 'max_backlog' } end
if buyer == '' then return { 'INVALID', 'buyer' } end
if order == '' then return { 'INVALID', 'order' } end
if voucher == '' then return { 'INVALID', 'voucher' } end
if not request or string.find(request, '[ |]') then return { 'INVALID', 'request' } end

local sale = redis.call('HMGET', KEYS[1], 'epoch', 'state', 'opens_ms', 'closes_ms', 'limit', 'pay_ms')
local epoch, state = sale[1], sale[2]
local opens_ms, closes_ms = tonumber(sale[3] or ''), tonumber(sale[4] or '')
local limit, pay_ms = tonumber(sale[5] or ''), tonumber(sale[6] or '')
local stock = tonumber(redis.call('GET', KEYS[2]) or '')
local buyers = redis.call('HMGET', KEYS[3], '', buyer) -- the field '' is there as long as the hash is whole
local records = buyers[2] or ''
local queued = redis.call('XLEN', KEYS[4])
local waiting = redis.call('HLEN', KEYS[5])
local queue_exists = queued > 0 or redis.call('EXISTS', KEYS[4]) == 1

if not (epoch and state and opens_ms and closes_ms and limit and pay_ms and stock and buyers[1] and queue_exists) then
  return { 'NOT_READY' }
end

local held, newest = 0, ''
for held_order, units, held_request in string.gmatch(records, '([^| ]+)|(%d+)|([^| ]*)') do
  if held_request == request then
    return { 'REPLAYED', held_order, tonumber(units), held }
  end
  if tonumber(units) > 0 then
    held = held + tonumber(units)
    newest = held_order
  end
end

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

if state ~= 'open' then return { 'PAUSED' } end
if now_ms < opens_ms then return { 'NOT_OPEN', opens_ms, now_ms } end
if now_ms >= closes_ms then return { 'CLOSED', closes_ms } end
if held + quantity > limit then return { 'LIMIT_REACHED', limit, newest } end
if stock < quantity then return { 'SOLD_OUT', stock } end
if waiting >= max_backlog then return { 'BUSY', waiting } end

local claimed = string.format('%.0f', now_ms)
local pay_before = string.format('%.0f', now_ms + pay_ms)

-- DECRBY is the first write and one that a full Redis refuses, so the claim is
-- refused whole. A write that fails later (a missing right) is taken back.
redis.call('DECRBY', KEYS[2], quantity)
local entry = redis.pcall('XADD', KEYS[4], '*',
  'order', order, 'voucher', voucher, 'buyer', buyer, 'quantity', quantity, 'request', request,
  'claimed_ms', claimed, 'pay_before_ms', pay_before, 'epoch', epoch)
if type(entry) == 'table' and entry.err then
  redis.call('INCRBY', KEYS[2], quantity)
  return redis.error_reply(entry.err)
end
local noted = redis.pcall('HSET', KEYS[5], order,
  voucher .. '|' .. quantity .. '|' .. claimed .. '|' .. pay_before .. '|' .. request .. '|' .. buyer)
if type(noted) == 'table' and noted.err then
  redis.call('XDEL', KEYS[4], entry)
  redis.call('INCRBY', KEYS[2], quantity)
  return redis.error_reply(noted.err)
end
local record = order .. '|' .. quantity .. '|' .. request
if records ~= '' then record = records .. ' ' .. record end
redis.call('HSET', KEYS[3], buyer, record)

return { 'ACCEPTED', now_ms, now_ms + pay_ms }
