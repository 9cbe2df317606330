"""What has to happen in Redis in one step, as Lua. Keys and arguments are those of `crew.Crew`."""

JOIN = """
if redis.call('HLEN', KEYS[2]) == 0 then
    redis.call('DEL', unpack(KEYS))
end
local phase = redis.call('HGET', KEYS[1], 'phase')
if phase == 'closing' then return 'closing' end
local leader = redis.call('HGET', KEYS[1], 'leader')
if redis.call('HSET', KEYS[2], ARGV[1], 'busy') == 1 then redis.call('HINCRBY', KEYS[1], 'joined', 1) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
if not phase then
    redis.call('HSET', KEYS[1], 'phase', 'discovery', 'leader', ARGV[1])
    return 'leader'
end
local found = redis.call('HEXISTS', KEYS[1], 'found') == 1
if phase == 'discovery' and not found and redis.call('HEXISTS', KEYS[2], leader) == 0 then
    redis.call('HSET', KEYS[1], 'leader', ARGV[1])
    redis.call('HDEL', KEYS[4], leader)
    return 'leader'
end
return leader == ARGV[1] and 'leader' or 'worker'
"""
"""Enter the crawl: KEYS crawl, workers, beats, lost, …all; ARGV worker, beat. What a crawl left whose workers are all
gone is deleted. The first worker leads; another one when the leader died before it had found anything."""

TAKE = """
local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local idle = ARGV[2] == 'idle'
local wait = head[1] == nil
if not wait and ARGV[3] == 'exact' and tonumber(head[2]) > tonumber(redis.call('HGET', KEYS[1], 'depth') or '0') then
    wait = not idle
    local states = redis.call('HGETALL', KEYS[3])
    for i = 1, #states, 2 do
        if states[i] ~= ARGV[1] and states[i + 1] == 'busy' then wait = true end
    end
    if not wait then redis.call('HSET', KEYS[1], 'depth', head[2]) end
end
if not wait then
    redis.call('ZREM', KEYS[2], head[1])
    redis.call('HSET', KEYS[3], ARGV[1], 'busy')
    return head[1]
end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then
    redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
end
return false
"""
"""Take the next request and count as busy, in one step, so that nobody sees an empty queue and idle workers between
them. KEYS crawl, queue, workers; ARGV worker, idle|busy, exact|any. With `exact` a deeper request waits until every
worker is done with those above it."""

DRAINED = """
local phase = redis.call('HGET', KEYS[1], 'phase')
if phase == 'closing' then return 1 end
if phase ~= 'crawling' or redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
for _, state in ipairs(redis.call('HVALS', KEYS[3])) do
    if state == 'busy' then return 0 end
end
redis.call('HSET', KEYS[1], 'phase', 'closing')
return 1
"""
"""Whether everything was crawled; from then on nobody can join. KEYS crawl, queue, workers."""

LEAVE = """
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[4], ARGV[1], ARGV[2]) end
if redis.call('HLEN', KEYS[2]) == 0 then redis.call('DEL', unpack(KEYS)) end
"""
"""Leave, or be taken off; the last one clears up. KEYS as for `JOIN`; ARGV worker, why it is lost (may be empty)."""
