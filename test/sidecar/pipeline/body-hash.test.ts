import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bodyHash, hashBody } from '../../../sidecar/pipeline/body/body-hash.ts'
import { createPacer } from '../../../sidecar/pipeline/pacer.ts'
import { createStageClock } from '../../../sidecar/pipeline/stage-runner.ts'
import { testExchange } from './test-exchange.ts'

const MIB = 1024 * 1024
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('a long body is hashed in slices, once; a short one when it is asked for', async () => {
  let turns = 0
  const pacer = createPacer(
    createStageClock(() => 0),
    (wake) => {
      turns += 1
      setImmediate(wake)
    },
  )
  for (const [bytes, expected] of [
    [Buffer.alloc(5 * MIB + 1, 'x'), 6],
    [Buffer.alloc(64 * 1024, 'y'), 0],
  ] as const) {
    turns = 0
    const exchange = Object.assign(testExchange({}), { bodyBytes: bytes })
    await hashBody(exchange, pacer)
    await hashBody(exchange, pacer)
    expect(turns).toBe(expected)
    expect(bodyHash(bytes)).toBe(sha256(bytes))
  }
})

test('the hash of a body is never that of another one', () => {
  const bytes = Buffer.from('abcdef')
  expect(bodyHash(bytes)).toBe(sha256(bytes))
  expect(bodyHash(bytes.subarray(1))).toBe(sha256(bytes.subarray(1)))
})
