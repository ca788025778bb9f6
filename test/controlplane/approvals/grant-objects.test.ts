import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PermissionSpec } from '../../../core/crd/schemas.ts'
import type { GrantObject } from '../../../core/wire/operator/grants.ts'
import { createManifests, type Manifests } from '../manifests/manifests.ts'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { grantFor, grantStatus, revokeGrant } from './granted.ts'

let world: World
let replica: Replica
let manifests: Manifests
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
  await manifests.apply('Gateway', 'team/main', {})
  gateway = await replica.enrol('team/main')
})
afterAll(() => world.stop())

async function granted(name: string) {
  await replica.command(gateway, 'agents.register', { name })
  const grant = await grantFor(replica, gateway, name)
  const object = await objectOf(grant.id)
  if (object === undefined) throw new Error(`no object of grant ${grant.id}`)
  const spec = object.spec as PermissionSpec
  return { grant, object, spec, path: `${object.namespace}/${object.name}` }
}

async function objectOf(id: string): Promise<GrantObject | undefined> {
  const { body } = await replica.operator('GET', '/api/operator/grants')
  return (body['grants'] as GrantObject[]).find(({ labels }) => labels['chaperone.dev/grant'] === id)
}

const MADE = { createdAt: '2026-01-01T00:00:00Z' }

const ofAgent = async (agent: string) =>
  (await manifests.permissions(gateway)).filter((permission) => permission.agent === agent)

test('a grant at a Gateway of the cluster is offered as a Permission with its maker and card', async () => {
  const { grant, object } = await granted('team/offered')
  expect(object).toEqual({
    namespace: 'team',
    name: `grant-${grant.id.slice('grt_'.length).toLowerCase()}`,
    labels: {
      'chaperone.dev/grant': grant.id,
      'chaperone.dev/approval': grant.approvalId,
      'chaperone.dev/granted-by': 'admin_example.com',
    },
    annotations: { 'chaperone.dev/granted-by': 'admin@example.com' },
    spec: {
      gatewayRefs: [{ name: 'main' }],
      agents: ['team/offered'],
      rules: [
        {
          connectorType: 'codehost',
          actionPattern: 'codehost.pr.merge',
          decision: 'require_approval',
          reason: `Later requests approved by admin@example.com with approval ${grant.approvalId}: target acme/site`,
        },
      ],
      expiresAt: (await grantStatus(replica, grant.id))?.['expires_at'],
      maxUses: 2,
    },
    is_stored: false,
  })
})

test('a grant at a Gateway that is no object of the cluster is not offered', async () => {
  const local = await replica.enrol('default/local')
  await replica.command(local, 'agents.register', { name: 'laptop' })
  const { id } = await grantFor(replica, local, 'laptop')
  expect(await objectOf(id)).toBeUndefined()
})

test('the Permission of a grant is accepted without rules of its own, and the grant releases holds', async () => {
  const { grant, spec, path } = await granted('team/shown')
  expect(await manifests.apply('Permission', path, spec)).toMatchObject({
    ...{ accepted: true, warnings: [], gateways: ['team/main'] },
  })
  expect(await ofAgent('team/shown')).toEqual([])
  expect(await objectOf(grant.id)).toMatchObject({ is_stored: true })
  expect(await grant.again()).toBe('approved')
})

test('deleting the Permission revokes the grant, with an event', async () => {
  const { grant, spec, path } = await granted('team/deleted')
  await manifests.apply('Permission', path, spec)
  await manifests.remove('Permission', path)
  expect(await grantStatus(replica, grant.id)).toMatchObject({
    status: 'revoked',
    revoked_by: `kubernetes Permission ${path}`,
  })
  expect(await grant.again()).toBe('created')
  const { rows } = await replica.db.query<{ details: unknown }>(
    "select details from audit_events where event_type = 'grant.revoked' and details ->> 'grant_id' = $1",
    [grant.id],
  )
  expect(rows).toHaveLength(1)
})

test('deleting the Permission before the operator has pushed it revokes the grant', async () => {
  const { grant, path } = await granted('team/unpushed')
  await manifests.remove('Permission', path)
  expect(await objectOf(grant.id)).toBeUndefined()
  expect(await grantStatus(replica, grant.id)).toMatchObject({
    revoked_by: `kubernetes Permission ${path}`,
  })
})

test('a Permission that was deleted and created again under its name revokes the grant', async () => {
  const { grant, spec, path } = await granted('team/replaced')
  await manifests.apply('Permission', path, spec, undefined, { ...MADE, uid: 'uid-first' })
  await manifests.apply('Permission', path, spec, undefined, { ...MADE, uid: 'uid-first' })
  expect(await grantStatus(replica, grant.id)).toMatchObject({ status: 'active' })
  await manifests.apply('Permission', path, spec, undefined, { ...MADE, uid: 'uid-second' })
  expect(await grantStatus(replica, grant.id)).toMatchObject({ status: 'revoked' })
  expect(await ofAgent('team/replaced')).toEqual([])
  expect(await grant.again()).toBe('created')
})

test('the removal of a manifest file with the name of a Permission of the cluster revokes no grant', async () => {
  const { grant, path } = await granted('team/of-file')
  const [namespace, name] = path.split('/')
  const removed = [{ kind: 'Permission', namespace, name }]
  const body = { source: 'file', objects: [], removed }
  expect((await replica.operator('POST', '/api/operator/changes', body)).status).toBe(200)
  expect(await grantStatus(replica, grant.id)).toMatchObject({ status: 'active' })
})

test('the Permission of a revoked grant is offered no more, and has no rules in force while it exists', async () => {
  const { grant, spec, path } = await granted('team/revoked')
  await manifests.apply('Permission', path, spec)
  await revokeGrant(replica, grant.id)
  expect(await objectOf(grant.id)).toBeUndefined()
  await manifests.apply('Permission', path, { ...spec })
  expect(await ofAgent('team/revoked')).toEqual([])
  await manifests.remove('Permission', path)
  expect(await grantStatus(replica, grant.id)).toMatchObject({ revoked_by: 'admin@example.com' })
})

test.each<[string, Partial<PermissionSpec>]>([
  ['more uses', { maxUses: 100 }],
  ['a later end', { expiresAt: '2099-01-01T00:00:00Z' }],
  ['no end', { expiresAt: undefined }],
  ['another agent', { agents: ['*'] }],
  [
    'the decision allow',
    { rules: [{ connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }] },
  ],
])(
  'a Permission that differs from its grant by %s is an ordinary one, and its status says so',
  async (what, change) => {
    const agent = `team/differs-${what.replaceAll(' ', '-')}`
    const { grant, spec, path } = await granted(agent)
    const reply = await manifests.apply('Permission', path, { ...spec, ...change })
    expect(reply).toMatchObject({ accepted: true })
    expect(reply.warnings.join()).toContain(`spec differs from grant ${grant.id}`)
    expect((await manifests.permissions(gateway)).length).toBeGreaterThan(0)
    await manifests.apply('Permission', path, spec)
    expect(await ofAgent(agent)).toEqual([])
  },
)

test('a Permission with fields of a grant but without a grant is an ordinary one, and releases no hold', async () => {
  const { grant, spec } = await granted('team/copied')
  const reply = await manifests.apply('Permission', 'team/copy', spec)
  expect(reply).toMatchObject({ accepted: true })
  expect(reply.warnings.join()).toContain('no approver granted this Permission')
  expect(await ofAgent('team/copied')).toMatchObject([{ decision: 'require_approval' }])
  await manifests.remove('Permission', 'team/copy')
  expect(await grantStatus(replica, grant.id)).toMatchObject({ status: 'active' })
})
