import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { GATEWAY_FLAGS } from '../../../core/gateway-flags.ts'
import { createIdleCollection, type IdleCollection } from '../../../sidecar/process/idle-collection.ts'

const IDLE_COLLECTION = join(import.meta.dirname, '../../../sidecar/process/idle-collection.ts')

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
    const program = `import { garbageCollector } from ${JSON.stringify(IDLE_COLLECTION)}
      const collect = garbageCollector()
      const held = new WeakRef({})
      setTimeout(() => { collect?.(); console.log(collect === null, held.deref() === undefined) })`
    const run = (flags: readonly string[]) =>
      spawnSync(process.execPath, [...flags, '--input-type=module', '-e', program], { encoding: 'utf8' })
        .stdout
    expect(run(GATEWAY_FLAGS)).toBe('false true\n')
    expect(run([])).toBe('true false\n')
  })

  it('keeps the hidden class of the callbacks of process.nextTick', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-maps-'))
    const log = join(folder, 'maps.log')
    const program = `import { garbageCollector } from ${JSON.stringify(IDLE_COLLECTION)}
      const useTicks = (then) => { let left = 100; const next = () => (--left > 0 ? process.nextTick(next) : then()); next() }
      const collect = garbageCollector()
      useTicks(() => setTimeout(() => { collect(); setTimeout(() => useTicks(() => console.log('end')), 1) }, 1))`
    const flags = [...GATEWAY_FLAGS, '--log-maps', '--no-logfile-per-isolate', `--logfile=${log}`]
    const { stdout } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    expect(stdout).toBe('end\n')
    const created = readFileSync(log, 'utf8').matchAll(/^map,Transition,.*,args$/gm)
    expect([...created]).toHaveLength(1)
    rmSync(folder, { recursive: true })
  })
})
