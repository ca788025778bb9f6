import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let plane: TestControlPlane
let folder: string
let admin: Call

beforeAll(async () => {
  server = await workerPostgres()
  folder = await mkdtemp(join(tmpdir(), 'chaperone-floors-'))
  plane = await startControlPlane(await server.createMigratedDatabase(), {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    GATEWAY_FLOORS: '{"enforcementLevel":"full_enforce"}',
    PLATFORM_NAMESPACES: 'platform',
  })
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  admin = caller(plane.url, { authorization: `Bearer ${token}` })
})
afterAll(async () => {
  await plane?.close()
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The level in the section that the gateway receives. */
async function sentLevel(token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'x-process-id': `proc_${token.slice(0, 8)}` }
  const ending = new AbortController()
  const { body } = await fetch(`${plane.url}/api/gateway/stream`, { headers, signal: ending.signal })
  let text = ''
  let hash: string | undefined
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    hash = /"gateway":"([0-9a-f]{64})"/.exec(text)?.[1]
    if (hash !== undefined) break
  }
  ending.abort()
  const section = await caller(plane.url, headers)('GET', `/api/gateway/sections/gateway?hash=${hash}`)
  return at(section.body, 'enforcementLevel')
}

test.each(['edge', 'platform/edge'])(
  'the level of %s, made by the API below its floor, is that of the floor everywhere',
  async (name) => {
    const made = await admin('POST', '/api/dashboard/gateway', {
      gateway: { name, host: '10.0.0.5', port: 9443, enforcementLevel: 'monitor' },
      agent: { name: `agent-${name.length}`, create: true },
      connectors: [],
    })
    expect(made.status, made.text).toBe(200)
    const id = at(made.body, 'gateway_id')
    const shown = async () => {
      const list = await admin('GET', '/api/dashboard/gateway')
      const overview = await admin('GET', '/api/dashboard/overview')
      const levels = [
        ...at<{ id: string; enforcementLevel: string }[]>(list.body, 'gateways')
          .filter((each) => each.id === id)
          .map((each) => each.enforcementLevel),
        ...at<{ id: string; level: string }[]>(overview.body, 'gateways')
          .filter((each) => each.id === id)
          .map((each) => each.level),
      ]
      return levels
    }
    expect(await shown()).toEqual(['full_enforce', 'full_enforce'])
    const changed = await admin('PATCH', '/api/dashboard/gateway', {
      gateway_id: id,
      enforcementLevel: 'enforce_high_risk',
    })
    expect(changed.body).toMatchObject({ gateway: { enforcementLevel: 'full_enforce' } })
    expect(await shown()).toEqual(['full_enforce', 'full_enforce'])
    expect(await sentLevel(at(made.body, 'gateway_token'))).toBe('full_enforce')
  },
)
