-- load_abandon.lua gives up a load that failed, so that the next one need not
-- wait for the end of its lease.
--
-- KEYS[1]  sale    hash
-- KEYS[2]  stock   string
-- KEYS[3]  buyers  hash
-- ARGV[1]  token of this load
--
-- RETURNS ABANDONED (no key of the sale is left), or LOST when another load took
-- over (nothing was changed).

if redis.call('HGET', KEYS[1], 'loader') ~= ARGV[1] then return 'LOST' end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
return 'ABANDONED'
