-- load_begin.lua opens the loading of a sale, unless it is loaded already.
--
-- KEYS[1]  sale    hash, see claim.lua; while it has a loader and no epoch, claims answer NOT_READY
-- KEYS[2]  stock   string
-- KEYS[3]  buyers  hash
-- ARGV[1]  token of this load, unique
--
-- RETURNS PRESENT (nothing was changed) or BEGUN. A later BEGUN takes the load
-- over: the earlier loader hears LOST at its next step.

if redis.call('HGET', KEYS[1], 'epoch')
    and redis.call('GET', KEYS[2])
    and redis.call('HEXISTS', KEYS[3], '') == 1 then
  return 'PRESENT'
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'loader', ARGV[1])
return 'BEGUN'
