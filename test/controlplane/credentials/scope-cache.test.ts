import { expect, test } from 'vitest'
import { createScopeCache } from '../../../controlplane/features/credentials/minting/narrowing/scope-cache.ts'

const connector = { id: 'con_1', name: 'default/a' }

function createWorld() {
  const world = { nowMs: 0, made: 0, keepMs: 1_000 }
  const cache = createScopeCache<number>(() => world.nowMs)
  const make = async () => ({ reply: ++world.made, keepMs: world.keepMs })
  const get = (key: string, id = 'con_1') => cache.get({ connector: { ...connector, id }, key }, make)
  return { world, cache, get }
}

test('concurrent calls of one scope share one reply, which is cached until it is due', async () => {
  const { world, cache, get } = createWorld()
  expect(await Promise.all([get('a'), get('a'), get('b')])).toEqual([1, 1, 2])
  expect(await get('a')).toBe(1)
  expect(await get('a', 'con_2')).toBe(3)
  expect(cache.counts()).toEqual(new Map([['default/a', 1]]))
  world.nowMs = 1_000
  expect(await get('a')).toBe(4)
})

test('a failure is not cached, and does not block the scope', async () => {
  const { world, cache, get } = createWorld()
  world.keepMs = 0
  expect([await get('a'), await get('a')]).toEqual([1, 2])
  const failing = cache.get({ connector, key: 'b' }, () => Promise.reject(new Error('no database')))
  await expect(failing).rejects.toThrow('no database')
  expect(await get('b')).toBe(3)
})

test('the least recently used of 256 scopes is evicted', async () => {
  const { cache, get } = createWorld()
  for (let at = 0; at < 256; at++) await get(`${at}`)
  expect(await get('0')).toBe(1)
  await get('another')
  expect(cache.counts().get('default/a')).toBe(256)
  expect(await get('0')).toBe(1)
  expect(await get('1')).toBe(258)
})

test('at most 16 exchanges of a Connector run at once', async () => {
  const { cache } = createWorld()
  let running = 0
  let most = 0
  const ends: Array<() => void> = []
  const make = async () => {
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => ends.push(resolve))
    running -= 1
    return { reply: 0, keepMs: 0 }
  }
  const all = Array.from({ length: 40 }, (_, at) => cache.get({ connector, key: `${at}` }, make))
  let isDone = false
  const done = Promise.all(all).then(() => {
    isDone = true
  })
  while (!isDone) {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await done
  expect(most).toBe(16)
})
