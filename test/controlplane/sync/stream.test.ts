import { createHash, createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bumpVersion, currentVersion } from '../../../controlplane/db/config-version.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import { SECTION_NAMES } from '../../../core/snapshot/sections.ts'
import { beatMacText, sectionIndexMacText } from '../../../core/wire/gateway/sync-mac.ts'
import { eventually } from '../../support/eventually.ts'
import { type Enrolled, openStream, type Replica, startWorld, type World } from './harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

const keyOf = (of: Enrolled) => createHash('sha256').update(`sync:${of.token}`).digest()

async function fetchSections(of: Enrolled, hashes: Record<string, string>): Promise<Record<string, string>> {
  const entries = Object.entries(hashes).map(async ([name, hash]) => {
    const response = await fetch(`${replica.url}/api/gateway/sections/${name}?hash=${hash}`, {
      headers: { authorization: `Bearer ${of.token}`, 'x-process-id': `proc_fetch_${of.id}` },
    })
    expect(response.status).toBe(200)
    return [name, await response.text()] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

describe('the stream of a gateway process', () => {
  test('begins with hello, then the kill state, then a section index signed with the key of the gateway token', async () => {
    const stream = await openStream(replica, gateway)
    const index = await stream.next('sections')
    expect(stream.messages.slice(0, 3).map(({ type }) => type)).toEqual(['hello', 'kill', 'sections'])
    const hello = await stream.next('hello')
    expect(hello.gateway).toEqual({ id: gateway.id, name: 'default/local' })
    const text = sectionIndexMacText(index.version, index.sections)
    expect(index.mac).toBe(createHmac('sha256', keyOf(gateway)).update(text).digest('hex'))
    expect(Object.keys(index.sections).sort()).toEqual([...SECTION_NAMES].sort())
    stream.close()
  })

  test('beats with a signature every five seconds', async () => {
    const stream = await openStream(replica, gateway)
    const beat = await eventually('a beat', () => stream.messages.find((m) => m.type === 'beat') ?? null)
    const text = beatMacText(beat.version, beat.until)
    expect(beat.mac).toBe(createHmac('sha256', keyOf(gateway)).update(text).digest('hex'))
    expect(Date.parse(beat.until)).toBeGreaterThan(Date.now())
    stream.close()
  })

  test('is refused without a gateway token', async () => {
    const response = await fetch(`${replica.url}/api/gateway/stream`, {
      headers: { authorization: 'Bearer wrong', 'x-process-id': 'proc_x' },
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: 'Unauthorized' })
  })

  test('a second stream of one process ends the first', async () => {
    const first = await openStream(replica, gateway, { processId: 'proc_twice' })
    const second = await openStream(replica, gateway, { processId: 'proc_twice' })
    await first.ended
    expect(replica.hub.liveOf(gateway.id)?.processes).toBeGreaterThan(0)
    await second.next('sections')
    second.close()
  })
})

describe('sections', () => {
  test('have exactly the bytes of the hashes in the section index, and build a snapshot with opened credentials', async () => {
    const token = 'ghp_canary_token'
    await replica.command(gateway, 'connectors.add', { type: 'codehost', token })
    await replica.command(gateway, 'permissions.set', {
      ...{ gateway_name: 'local', connector_type: 'codehost', action_pattern: 'codehost.pr.*' },
      decision: 'allow',
    })
    await replica.hub.kill.refresh()
    const version = await currentVersion(replica.db)
    const stream = await openStream(replica, gateway)
    const index = await stream.next('sections', (m) => m.version === version)
    const texts = await fetchSections(gateway, index.sections)
    for (const [name, text] of Object.entries(texts)) {
      expect(createHash('sha256').update(text).digest('hex'), name).toBe(index.sections[name])
    }
    const sections = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, JSON.parse(text)]))
    const snapshot = buildSnapshot({ version, sections, hashes: index.sections })
    expect(snapshot.permissions.size).toBe(1)
    expect(sections['connectors'][0]).toMatchObject({
      type: 'codehost',
      secret: token,
      auth: { type: 'token' },
    })
    stream.close()
  })

  test('with another hash are 404, so that no gateway mixes versions', async () => {
    const reply = await replica.gateway(
      gateway,
      'GET',
      `/api/gateway/sections/gateway?hash=${'0'.repeat(64)}`,
    )
    expect(reply.status).toBe(404)
    const unknown = await replica.gateway(gateway, 'GET', `/api/gateway/sections/nope?hash=${'0'.repeat(64)}`)
    expect(unknown.status).toBe(404)
  })

  test('a change sends a new section index, and only the shard that changed has a new hash', async () => {
    const stream = await openStream(replica, gateway)
    const before = await stream.next('sections')
    const reply = await replica.command(gateway, 'permissions.set', {
      ...{
        gateway_name: 'default/local',
        connector_type: 'chat',
        action_pattern: 'chat.*',
        decision: 'deny',
      },
    })
    expect(reply).toMatchObject({ status: 200, body: { ok: true } })
    const after = await stream.next('sections', (m) => m.version > before.version)
    const changed = Object.keys(after.sections).filter(
      (name) => after.sections[name] !== before.sections[name],
    )
    expect(changed).toHaveLength(1)
    expect(changed[0]).toMatch(/^permissions\.0[0-9a-f]$/)
    stream.close()
  })

  test('a change that does not concern a gateway sends it nothing', async () => {
    const other = await replica.enrol('default/other')
    const stream = await openStream(replica, other)
    const local = await openStream(replica, gateway)
    const before = await local.next('sections')
    await stream.next('sections')
    await replica.command(gateway, 'permissions.set', {
      ...{ gateway_name: 'local', connector_type: 'mcp', action_pattern: 'mcp.*', decision: 'allow' },
    })
    await local.next('sections', (m) => m.version > before.version)
    expect(stream.messages.filter((m) => m.type === 'sections')).toHaveLength(1)
    stream.close()
    local.close()
  })

  test('a version raised on one replica reaches the gateways of another', async () => {
    const second = await world.replica()
    const stream = await openStream(second, gateway)
    const before = await stream.next('sections')
    await replica.command(gateway, 'enforcement', { level: 'monitor' })
    const after = await stream.next('sections', (m) => m.version > before.version)
    expect(after.sections['gateway']).not.toBe(before.sections['gateway'])
    await replica.command(gateway, 'enforcement', { level: 'full_enforce' })
    await second.stop()
    await stream.ended
    expect(stream.messages.at(-1)).toEqual({ type: 'goaway', after_ms: 0 })
  })

  test('a change whose notification is lost is found by looking', async () => {
    const enrolled = await replica.enrol('default/unnotified')
    const stream = await openStream(replica, enrolled)
    const before = await stream.next('sections')
    // Written behind the program's back: nobody is notified of it.
    await replica.db.query(
      `update gateways set spec = jsonb_set(spec, '{defaultDecision}', '"allow"') where id = $1`,
      [enrolled.id],
    )
    await replica.db.query('update config_version set version = version + 1')
    const after = await stream.next('sections', (m) => m.version > before.version)
    const texts = await fetchSections(enrolled, { gateway: after.sections['gateway'] ?? '' })
    expect(JSON.parse(texts['gateway'] ?? '')).toMatchObject({ defaultDecision: 'allow' })
    stream.close()
  })
})

describe('what is known of a gateway', () => {
  test('says how many processes run and how far the slowest has come', async () => {
    const enrolled = await replica.enrol('default/live')
    expect(replica.hub.liveOf(enrolled.id)).toBeNull()
    const first = await openStream(replica, enrolled, { processId: 'proc_a' })
    const second = await openStream(replica, enrolled, { processId: 'proc_b' })
    const { version } = await first.next('sections')
    await second.next('sections')
    const ack = (processId: string, applied: number) =>
      replica.gateway(
        enrolled,
        'POST',
        '/api/gateway/ack',
        { version: applied, applied_at: new Date().toISOString() },
        processId,
      )
    await ack('proc_a', version)
    await ack('proc_b', version - 1)
    await replica.gateway(
      enrolled,
      'POST',
      '/api/gateway/status',
      {
        ...{ url: 'http://127.0.0.1:9443', version: '1.2.3', applied_version: version, agents: 3 },
        uptime_seconds: 12,
        journal: { state: 'ok', pending: 0, bytes: 0 },
      },
      'proc_a',
    )
    expect(replica.hub.liveOf(enrolled.id)).toMatchObject({
      ...{ processes: 2, applied_version: version - 1, desired_version: version, agents: 3 },
      ...{ kill_switch: false, uptime_seconds: 12 },
    })
    first.close()
    second.close()
    await eventually('the processes are gone', () => (replica.hub.liveOf(enrolled.id) === null ? true : null))
  })

  test('an order reaches one process, and its result the waiting caller', async () => {
    const enrolled = await replica.enrol('default/executor')
    const order = {
      order_id: 'ord_1',
      action_request_id: 'act_1',
      agent: 'builder',
      action_spec: { type: 'x.y' },
    }
    expect(replica.hub.execute(enrolled.id, order)).toBeNull()
    const stream = await openStream(replica, enrolled, { processId: 'proc_executor' })
    await stream.next('sections')
    const waiting = replica.hub.execute(enrolled.id, order)
    expect(await stream.next('execute')).toMatchObject(order)
    const result = {
      order_id: 'ord_1',
      action_request_id: 'act_1',
      ok: true,
      status: 201,
      result: { id: 7 },
      error: null,
    }
    const settle = (body: object, processId: string) =>
      replica.gateway(enrolled, 'POST', '/api/gateway/results', body, processId)
    // Another process of the same gateway does not have the order.
    await settle({ ...result, result: 'forged' }, 'proc_bystander')
    const reply = await settle(result, 'proc_executor')
    expect(reply.status).toBe(200)
    expect(await waiting).toEqual(result)
    stream.close()
  })
})

test('a reader that does not read is cut off instead of being buffered for', async () => {
  const enrolled = await replica.enrol('default/slow')
  const { connect } = await import('node:net')
  const { port } = new URL(replica.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `GET /api/gateway/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${enrolled.token}\r\nX-Process-Id: proc_slow\r\n\r\n`,
  )
  socket.on('error', () => undefined)
  socket.pause()
  await eventually('it is connected', () => replica.hub.liveOf(enrolled.id))
  const order = (index: number) => ({
    ...{ order_id: `ord_slow_${index}`, action_request_id: 'act_1', agent: 'a' },
    action_spec: { filler: 'x'.repeat(200_000) },
  })
  for (let index = 0; replica.hub.liveOf(enrolled.id) !== null; index++) {
    if (index > 200) throw new Error('40 MB were buffered for a reader that does not read')
    replica.hub.execute(enrolled.id, order(index))?.catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(replica.hub.liveOf(enrolled.id)).toBeNull()
  socket.destroy()
  await replica.db.tx((q) => bumpVersion(q))
})
