import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { type Enrolled, type Replica, startWorld, type World } from './harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

const TOKEN = 'canary-of-the-connector'
const PLAIN = { url: 'http://10.0.0.7:8080', allowPrivateAddresses: true }

async function put(upstream: object, more: object = {}) {
  const spec = { type: 'generic', domains: ['a.test'], credential: { secretRef: { name: 's' } }, upstream }
  const { body } = await replica.operator('PUT', '/api/operator/objects/Connector/default/plain', {
    ...{ uid: 'uid-1', generation: 1, source: 'file', managed_by: 'a.yaml', credential: TOKEN },
    resource: {
      apiVersion: 'chaperone.dev/v1alpha1',
      kind: 'Connector',
      metadata: { name: 'plain', namespace: 'default' },
      spec: { ...spec, ...more },
    },
  })
  return body as { readonly accepted: boolean; readonly reasons: readonly string[] }
}

/** What the gateway is sent. */
async function sent(): Promise<ConnectorEntry | undefined> {
  const library = createSectionLibrary({
    db: replica.db,
    keyring: world.keyring,
    organisationToken: { read: async () => 'organisation-token', scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
  await library.reload()
  const text = library.of(gateway.id)?.texts.get('connectors') ?? '[]'
  return (JSON.parse(text) as ConnectorEntry[]).find(({ domains }) => domains.includes('a.test'))
}

test('a manifest whose credential would leave in clear text is refused and says what to set', async () => {
  const answer = await put(PLAIN)
  expect(answer.accepted).toBe(false)
  expect(answer.reasons).toEqual([expect.stringMatching(/clear text.*allowPlaintextCredential: true/)])
  expect(await sent()).toBeUndefined()
})

test('with the permission it is stored, and the gateway gets credential and permission', async () => {
  expect(await put({ ...PLAIN, allowPlaintextCredential: true })).toMatchObject({ accepted: true })
  expect(await sent()).toMatchObject({ secret: TOKEN, upstream: { allowPlaintextCredential: true } })
})

test('the credential of a connector that an earlier version stored stays in the control plane', async () => {
  await replica.db.query(
    `update connectors set spec = jsonb_set(spec, '{upstream}', (spec->'upstream') - 'allowPlaintextCredential')`,
  )
  const entry = await sent()
  expect(entry).toMatchObject({ secret: null, withheld: expect.stringMatching(/allowPlaintextCredential/) })
  expect(JSON.stringify(entry)).not.toContain(TOKEN)
  expect(JSON.stringify(entry)).not.toContain('organisation-token')
})

test('a connector without a credential to send needs no permission', async () => {
  expect(await put(PLAIN, { auth: { type: 'none' } })).toMatchObject({ accepted: true })
})
