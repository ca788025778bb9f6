import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { GATEWAY_FLAGS } from '../../../core/gateway-flags.ts'
import { createIdleCollection, type IdleCollection } from '../../../sidecar/process/idle-collection.ts'

let collection: IdleCollection | null = null
afterEach(() => collection?.close())

/** A clock that only the test moves, and the number of collections. */
function setUp() {
  const clock = { ms: 0 }
  const live = { size: 0, total: 0 }
  let collected = 0
  const made = createIdleCollection({
    live,
    clock: { monotonicMs: () => clock.ms },
    collect: () => {
      collected += 1
    },
  })
  collection = made
  return {
    live,
    /** Checks every 10 s for so many seconds. */
    pass(seconds: number) {
      for (let n = 0; n < seconds; n += 10) {
        clock.ms += 10_000
        made.check()
      }
    },
    collected: () => collected,
  }
}

describe('the garbage collection of an idle gateway', () => {
  it('runs once after the start, and again only after requests', () => {
    const { live, pass, collected } = setUp()
    pass(10)
    expect(collected()).toBe(1)
    pass(600)
    expect(collected()).toBe(1)
    live.total += 1
    pass(10)
    expect(collected()).toBe(1)
    pass(10)
    expect(collected()).toBe(2)
  })

  it('waits for the end of the requests in progress', () => {
    const { live, pass, collected } = setUp()
    live.size = 1
    pass(300)
    expect(collected()).toBe(0)
    live.size = 0
    pass(10)
    expect(collected()).toBe(1)
  })

  it('runs at most once a minute', () => {
    const { live, pass, collected } = setUp()
    for (let n = 0; n < 30; n += 1) {
      live.total += 1
      pass(20)
    }
    expect(collected()).toBeGreaterThanOrEqual(9)
    expect(collected()).toBeLessThanOrEqual(10)
  })

  it('has what it needs with the flags of a gateway, and does nothing without them', () => {
    const file = join(import.meta.dirname, '../../../sidecar/process/idle-collection.ts')
    const program = `import { garbageCollector } from ${JSON.stringify(file)}
      const collect = garbageCollector()
      const held = new WeakRef({})
      setTimeout(() => { collect?.(); console.log(collect === null, held.deref() === undefined) })`
    const run = (flags: readonly string[]) =>
      spawnSync(process.execPath, [...flags, '--input-type=module', '-e', program], { encoding: 'utf8' })
        .stdout
    expect(run(GATEWAY_FLAGS)).toBe('false true\n')
    expect(run([])).toBe('true false\n')
  })
})
