-- drop_consumer.lua removes a consumer's name from the group, only when nothing
-- would be lost by it: removing a consumer throws its pending entries away for
-- good.
--
-- KEYS[1]  orders  stream
-- ARGV[1]  group
-- ARGV[2]  consumer
--
-- RETURNS 1 when the name is gone, 0 when it still has pending entries or is
-- unknown.

for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local facts = {}
  for i = 1, #consumer, 2 do facts[consumer[i]] = consumer[i + 1] end
  if facts.name == ARGV[2] and facts.pending == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
    return 1
  end
end
return 0
