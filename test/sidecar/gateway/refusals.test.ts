import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../../core/record.ts'
import { Journal } from '../../../sidecar/journal/journal.ts'
import { createTestLog } from '../control/test-log.ts'
import { type GatewayWorld, permission, startGatewayWorld } from './gateway-world.ts'

const DENIED = { permissions: [permission('generic.*', 'deny')] }

async function flood(world: GatewayWorld, count: number, pathOf: (n: number) => string) {
  const answers: Record<string, unknown>[] = []
  for (let done = 0; done < count; done += 50) {
    const some = Array.from({ length: Math.min(50, count - done) }, (_, n) =>
      world.proxied('GET', pathOf(done + n)),
    )
    for (const { status, text } of await Promise.all(some)) {
      expect(status).toBe(403)
      answers.push(JSON.parse(text))
    }
  }
  return answers
}

async function drain(journal: Journal): Promise<TrafficRecord[]> {
  const found: TrafficRecord[] = []
  for (;;) {
    const { records } = await journal.nextBatch(10_000)
    if (records.size === 0) return found
    for (const json of records.values()) found.push(JSON.parse(json.toString()))
    journal.acknowledge(records.keys(), [])
  }
}

const countOf = (records: readonly TrafficRecord[]) =>
  records.reduce((sum, { refusals }) => sum + (refusals?.count ?? 1), 0)

describe('a flood of refusals', () => {
  test('has one record each for the first sixty and one aggregate for the rest, and every response names its record', async () => {
    await using world = await startGatewayWorld(DENIED)
    const answers = await flood(world, 1_000, () => '/things')
    await world.gateway.close()
    const { records } = world.fake
    expect(records).toHaveLength(61)
    expect(countOf(records)).toBe(1_000)
    expect(world.upstream.seen).toHaveLength(0)
    const row = records.find(({ refusals }) => refusals != null)
    expect(row).toMatchObject({
      ...{ agent: 'bot', action_type: 'generic.get', decision: 'DENY', reason: 'permission', status: 403 },
      act_id: expect.stringMatching(/^act_/),
      note: expect.stringMatching(/^940 refusals from .*Z to .*Z, 1 target$/),
      refusals: { count: 940, distinct_targets: 1, more_targets: false, reasons: { permission: 940 } },
    })
    expect(answers.filter(({ record_id }) => record_id === row?.id)).toHaveLength(940)
    expect(new Set(answers.map(({ record_id }) => record_id))).toEqual(new Set(records.map(({ id }) => id)))
    expect(records.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(records.map((_, n) => n))
  })

  test('counts each refusal in the metrics of the specification', async () => {
    await using world = await startGatewayWorld(DENIED)
    await flood(world, 300, () => '/things')
    const { text } = await world.api('GET', '/metrics', { token: null })
    expect(text).toContain(
      'svc_requests_total{agent="bot",connector="generic",decision="deny",action_type="generic.get"} 300',
    )
    expect(text).toMatch(/svc_requests_denied_total\{agent="bot",connector="generic",reason="[a-z_]+"\} 300/)
  })

  test('with wrong keys counts under no agent and has one row', async () => {
    await using world = await startGatewayWorld(DENIED)
    for (let n = 0; n < 100; n++) {
      const auth = `Basic ${Buffer.from(`bot${n}:wrong${n}`).toString('base64')}`
      const answer = await world.proxied('GET', '/things', { auth })
      expect(answer.status).toBe(407)
      expect(answer.headers['x-service-record']).toMatch(/^rec_/)
    }
    await world.gateway.close()
    expect(world.fake.records).toHaveLength(61)
    expect(countOf(world.fake.records)).toBe(100)
  })

  test('is counted after a crash: the aggregate in the journal has every response', async () => {
    await using world = await startGatewayWorld(DENIED)
    await flood(world, 400, () => '/things')
    const left = mkdtempSync(join(tmpdir(), 'chaperone-left-'))
    try {
      // As kill -9 leaves it: nothing was closed. What was uploaded meanwhile is known by its id.
      cpSync(join(world.dir, 'journal'), left, { recursive: true })
      expect(readdirSync(left).length).toBeGreaterThan(0)
      const journal = new Journal({
        dir: left,
        processId: 'proc_next',
        maxBytes: 1 << 24,
        log: createTestLog(),
      })
      const rows = await drain(journal)
      journal.close()
      const row = rows.find(({ refusals }) => refusals != null)
      expect(row?.refusals).toMatchObject({ count: 340, reasons: { permission: 340 } })
      expect(row).toMatchObject({ status: 403, note: expect.stringContaining('340 refusals from') })
    } finally {
      rmSync(left, { recursive: true, force: true })
    }
  })
})
