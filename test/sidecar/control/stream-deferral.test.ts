import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createControlClient } from '../../../sidecar/control/client/client.ts'
import { createHeartbeats } from '../../../sidecar/control/stream/heartbeats.ts'
import { ControlStream } from '../../../sidecar/control/stream/stream.ts'
import { createTestLog } from './test-log.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A gateway whose control plane answers each attempt with 503. */
function refusedStream({ retryAfterS, random = 0.5 }: { retryAfterS: number | undefined; random?: number }) {
  const attempts: number[] = []
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const stream = new ControlStream({
    client: {
      open: async () => {
        attempts.push(Date.now())
        async function* body() {}
        return {
          status: 503,
          ...(retryAfterS === undefined ? {} : { retryAfterS }),
          body: body(),
          bearer: 't',
        }
      },
      renew: () => undefined,
    },
    controlPlaneUrl: 'http://x',
    handlers: {
      hello: () => undefined,
      sections: () => undefined,
      kill: () => undefined,
      verdict: () => undefined,
      execute: () => undefined,
      quota: () => undefined,
      instance: () => undefined,
    },
    ...{ heartbeats: createHeartbeats(clock), clock, random: () => random, log: createTestLog() },
  })
  stream.start()
  return { attempts, stream }
}

describe('a gateway that is not admitted', () => {
  test('connects again after Retry-After and jitter, not before', async () => {
    const { attempts, stream } = refusedStream({ retryAfterS: 7 })
    await pass(7_400)
    expect(attempts).toHaveLength(1)
    await pass(200)
    expect(attempts).toHaveLength(2)
    stream.close()
  })

  test('does not wait longer than a minute, whatever the answer says', async () => {
    const { attempts, stream } = refusedStream({ retryAfterS: 86_400 })
    await pass(61_000)
    expect(attempts).toHaveLength(2)
    stream.close()
  })

  test('retries with the usual back-off when the answer names no time', async () => {
    const { attempts, stream } = refusedStream({ retryAfterS: undefined })
    await pass(5_000)
    expect(attempts.length).toBeGreaterThan(5)
    stream.close()
  })
})

test('the client reports Retry-After in seconds, and no date or other text', async () => {
  vi.useRealTimers()
  let value = '3'
  const server = createServer((_, response) => response.writeHead(503, { 'retry-after': value }).end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createControlClient({ url, token: 't', processId: 'proc_1' })
  const open = async () => (await client.open('/', new AbortController().signal)).retryAfterS
  expect(await open()).toBe(3)
  value = 'Wed, 21 Oct 2026 07:28:00 GMT'
  expect(await open()).toBeUndefined()
  await client.close()
  server.closeAllConnections()
  server.close()
})
