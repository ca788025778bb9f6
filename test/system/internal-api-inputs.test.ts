import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

/** What the gateway's internal API says to names that nothing bears and to bodies that are no JSON, and which agents it lists. */
const POSTS = [
  ...['connectors/add', 'connectors/remove', 'permissions/set', 'approvals/respond'],
  ...['kill-switch', 'agents/register', 'agents/deregister', 'enforcement'],
].map((name) => `/internal/${name}`)
const MALFORMED = ['{"active":', 'nonsense', '[1,]', '{"a":1}{', "{'a':1}", '\u0000']

let vendors: Vendors
let laptop: Laptop
let token: string

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: { 'vendors.yaml': vendors.manifests } })
  token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

async function internal(method: string, path: string, text?: string): Promise<Answer> {
  const answer = await fetch(laptop.ready.gateway_url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(text === undefined ? {} : { body: text }),
  })
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

const kill = (body: object) => internal('POST', '/internal/kill-switch', JSON.stringify(body))

test('a kill switch scope that nothing bears is set, as 0 of 0, with a warning and the nearest names', async () => {
  const on = await kill({ active: true, scope: 'agent:dve', reason: 'drill' })
  expect(on).toMatchObject({
    status: 200,
    body: {
      ...{ ok: true, active: true, scope: 'agent:dve', acknowledged: { acked: 0, total: 0 } },
      ...{
        warning: expect.stringMatching(/is called agent:dve.*Did you mean agent:dev/),
        nearest: ['agent:dev'],
      },
      effective: [expect.objectContaining({ scope: 'agent:dve' })],
    },
  })
  const off = await kill({ active: false, scope: 'agent:dve' })
  expect(off).toMatchObject({ status: 200, body: { effective: [] } })
  expect(off.body).not.toHaveProperty('warning')
})

test.each(POSTS)(
  'malformed JSON for %s is a failed validation with details, and changes nothing',
  async (path) => {
    const before = await laptop.api('GET', '/api/dashboard/audit?limit=1')
    for (const text of MALFORMED)
      expect(await internal('POST', path, text), text).toMatchObject({
        status: 400,
        body: { error: 'Validation failed', details: expect.stringContaining('not valid JSON') },
      })
    expect((await laptop.api('GET', '/api/dashboard/audit?limit=1')).body).toEqual(before.body)
  },
)

test('the built-in agent of the examples is neither listed nor counted', async () => {
  const health = async () => (await internal('GET', '/health')).body['agents']
  const before = await health()
  expect((await laptop.api('POST', '/api/dashboard/demo-action', { scenario: 0 })).status).toBe(200)
  const { body } = await laptop.api('GET', '/api/dashboard/agents')
  expect(JSON.stringify(body)).toContain('chaperone-demo')
  // A change that the gateway has to know: once it is in force, so is everything before it.
  const registered = await internal('POST', '/internal/agents/register', '{"name":"later"}')
  expect(registered.status).toBe(200)
  const listed = (await internal('GET', '/internal/agents')).body['agents'] as { readonly name: string }[]
  expect(listed.map(({ name }) => name).toSorted()).toEqual(['dev', 'later'])
  expect(await health()).toBe(Number(before) + 1)
  expect(vendors.recorder.seen).toEqual([])
})

test('an agent that is not active is neither listed nor counted', async () => {
  const listed = async () =>
    (await internal('GET', '/internal/agents')).body['agents'] as { agent_id: string; name: string }[]
  const before = (await internal('GET', '/health')).body['agents']
  expect((await internal('POST', '/internal/agents/register', '{"name":"paused"}')).status).toBe(200)
  const agent_id = (await listed()).find(({ name }) => name === 'paused')?.agent_id
  const suspended = await laptop.api('PATCH', '/api/dashboard/agents', { agent_id, action: 'suspend' })
  expect(suspended.status).toBe(200)
  await eventually('a list without it', async () =>
    (await listed()).some(({ name }) => name === 'paused') ? null : true,
  )
  expect((await internal('GET', '/health')).body['agents']).toBe(before)
})
