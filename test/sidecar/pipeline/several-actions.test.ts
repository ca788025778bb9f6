import { afterEach, describe, expect, it } from 'vitest'
import { type OwnRecord, RecordSchema, type TrafficRecord } from '../../../core/record.ts'
import { IDLE_GAUGES } from '../../../scripts/metrics/idle-gauges.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { replyJson } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type McpWorld, startMcpWorld } from './mcp-world.ts'
import type { Rules } from './test-world.ts'

const open: McpWorld[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

async function start(gateway: Rules['gateway'] = {}): Promise<McpWorld> {
  const rules: Rules = { permissions: [['mcp.*', 'allow']], gateway }
  const started = await startMcpWorld(rules, replyJson({ jsonrpc: '2.0', id: 1, result: {} }))
  open.push(started)
  return started
}

const call = (name: string, id: number) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name, arguments: {} },
})
const batch = (count: number) => Array.from({ length: count }, (_, n) => call(n === 0 ? 'read' : 'write', n))

async function recordOf({ world }: McpWorld): Promise<TrafficRecord> {
  return waitFor(() => {
    expect(world.records).toHaveLength(1)
    return world.records[0] as TrafficRecord
  })
}

describe('a request that carries several actions', () => {
  it('has one record that lists their names once each, and their number', async () => {
    const started = await start()
    expect((await started.post(batch(5))).status).toBe(200)
    const record = await recordOf(started)
    expect(record.actions).toEqual(['mcp.tools.read', 'mcp.tools.write'])
    expect(record.action_count).toBe(5)
  })

  it('has a record that lists target, effect and effect classes of each, at most 64', async () => {
    const started = await start({ maxActionsPerRequest: 1_000 })
    expect((await started.post([call('read', 1), call('write', 2)])).status).toBe(200)
    expect((await recordOf(started)).action_details).toEqual([
      { type: 'mcp.tools.read', target: 'read', effect: 'read' },
      { type: 'mcp.tools.write', target: 'write', effect: 'write' },
    ])
    const many = await start({ maxActionsPerRequest: 1_000 })
    const unversioned = batch(40).map((message) => ({ ...message, jsonrpc: '1.0' }))
    await many.post(unversioned)
    expect(many.world.upstream.seen).toEqual([])
    const record = await recordOf(many)
    expect(record.action_count).toBe(80)
    expect(record.action_details).toHaveLength(64)
    expect(RecordSchema.parse(record)).toEqual(record)
  })

  it('has a record without the credentials in the URLs that it names', async () => {
    const started = await start()
    const read = (uri: string, id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'resources/read',
      params: { uri },
    })
    const uris = ['https://bot:canary@files.example/a', 'https://files.example/b?access_token=canary']
    expect((await started.post(uris.map(read))).status).toBe(200)
    const record = await recordOf(started)
    expect(record.action_details?.map(({ target }) => target)).toEqual([
      'https://REDACTED@files.example/a',
      'https://files.example/b?access_token=REDACTED',
    ])
    expect(JSON.stringify(record)).not.toContain('canary')
  })

  it('has a record without a list where it is a single one', async () => {
    const started = await start()
    await started.post(call('read', 1))
    const { actions, action_count, action_details } = await recordOf(started)
    expect([actions ?? null, action_count ?? null, action_details ?? null]).toEqual([null, null, null])
  })

  it('is refused with 413 and the remedy beyond 32, and nothing is forwarded', async () => {
    const started = await start()
    const reply = await started.post(batch(33))
    expect(reply.status).toBe(413)
    expect(reply.body).toContain('maxActionsPerRequest')
    expect(reply.body).toContain('33')
    expect(started.world.upstream.seen).toEqual([])
    const record = await recordOf(started)
    expect(record).toMatchObject({ decision: 'DENY', status: 413, action_count: 33 })
    expect((await started.post(batch(32))).status).toBe(200)
  })

  it('is bounded by maxActionsPerRequest of the Gateway', async () => {
    const started = await start({ maxActionsPerRequest: 2 })
    expect((await started.post(batch(3))).status).toBe(413)
    expect((await started.post(batch(2))).status).toBe(200)
    expect(started.world.upstream.seen).toHaveLength(1)
  })

  it('counts each of them in a counter of its own, and one request', async () => {
    const started = await start()
    await started.post(batch(5))
    const metrics = createMetrics()
    metrics.finished((await recordOf(started)) as OwnRecord, null)
    const text = metrics.scrape(IDLE_GAUGES)
    expect(text).toMatch(/^svc_request_actions_total\{agent="builder",connector="mcp",decision="allow"\} 5$/m)
    expect(text).toMatch(/^svc_requests_total\{.*\} 1$/m)
  })
})
