-- load_records.lua writes a part of the buyers' records of a sale being loaded.
--
-- KEYS[1]  sale    hash
-- KEYS[2]  buyers  hash: buyer -> records, see claim.lua
-- ARGV[1]  token of this load
-- ARGV[2..] buyer, records, buyer, records, ...
--
-- RETURNS WRITTEN, or LOST when another load took over (nothing was changed).

if redis.call('HGET', KEYS[1], 'loader') ~= ARGV[1] then return 'LOST' end
for i = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 'WRITTEN'
