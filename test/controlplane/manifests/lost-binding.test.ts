import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decide } from '../../../core/decision/decide.ts'
import { compileStoredPolicy } from '../../../core/decision/policies/compile-policy.ts'
import { buildPolicyIndex } from '../../../core/decision/policies/policy-index.ts'
import { buildPermissionIndex } from '../../support/permission-index.ts'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Manifests } from './manifests.ts'

let world: World
let replica: Replica
let manifests: Manifests

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
})
afterAll(() => world.stop())

const REFS = (name: string) => ({ gatewayRefs: [{ name, namespace: 'platform' }] })
const ADMITTED = { from: 'Selector', names: ['team-b'] }
const admits = { allowedNamespaces: { permissions: ADMITTED, policies: ADMITTED, connectors: ADMITTED } }
const rule = (actionPattern: string, decision: string) => ({
  connectorType: 'codehost',
  ...{ actionPattern, decision },
})
const PERMISSION = {
  agents: ['*', 'bot'],
  rules: [
    rule('codehost.issue.*', 'allow'),
    rule('codehost.branch.delete', 'deny'),
    rule('codehost.pr.merge', 'require_approval'),
  ],
}
const when = (type: string, decision: string, priority = 100) => ({
  priority,
  rules: [{ name: type, conditions: [`action.type == "${type}"`], decision }],
})

/** What the gateway would decide with the sections that it would be sent now. */
async function verdict(of: Enrolled, agent: string, type: string) {
  const permissions = buildPermissionIndex(await manifests.permissions(of))
  const policies = buildPolicyIndex((await manifests.policies(of)).map(compileStoredPolicy))
  const facts = { id: 'agt', name: agent, environment: 'production', runtime: '', status: 'active' as const }
  const action = {
    ...{ type, connector: 'codehost', effect: 'write', risk: 'high' },
    ...{
      target: 'acme/site',
      resource: { provider: 'codehost' },
      parameters: {},
      riskHints: {},
      context: {},
    },
  } as never
  const rules = { permissions, policies, level: 'full_enforce' as const, defaultVerdict: 'allow' as const }
  return decide(rules, { agent: facts, action, nowMs: 0 }).verdict
}

async function sharedGateway(name: string): Promise<Enrolled> {
  await manifests.apply('Gateway', `platform/${name}`, admits)
  return replica.enrol(`platform/${name}`)
}

describe('an object whose namespace is admitted no more', () => {
  test('a Permission keeps its denies and holds for agents of its namespace, and grants nothing', async () => {
    const gateway = await sharedGateway('one')
    await manifests.apply('Permission', 'team-b/p', { ...REFS('one'), ...PERMISSION })
    await manifests.apply('Gateway', 'platform/one', {})
    const kept = await manifests.permissions(gateway)
    expect(new Set(kept.map(({ decision }) => decision))).toEqual(new Set(['deny', 'require_approval']))
    expect(new Set(kept.map(({ agent }) => agent))).toEqual(new Set(['team-b/*', 'team-b/bot']))
    const reply = await manifests.outcome('Permission', 'team-b/p')
    expect(reply).toMatchObject({ accepted: false, problem: 'NamespaceNotAllowed' })
    expect(reply.reasons.join()).toMatch(/rules that deny or hold .* agents of namespace team-b/)
    for (const agent of ['team-b/bot', 'team-b/other']) {
      expect(await verdict(gateway, agent, 'codehost.branch.delete')).toBe('deny')
      expect(await verdict(gateway, agent, 'codehost.pr.merge')).toBe('hold')
    }
    expect(await verdict(gateway, 'team-a/bot', 'codehost.branch.delete')).toBe('allow')
  })

  test('is in force again when it is admitted again, and gone when it is changed or deleted', async () => {
    const gateway = await sharedGateway('two')
    const spec = { ...REFS('two'), ...PERMISSION }
    await manifests.apply('Permission', 'team-b/again', spec)
    const before = await manifests.permissions(gateway)
    await manifests.apply('Gateway', 'platform/two', {})
    await manifests.apply('Gateway', 'platform/two', admits)
    const after = await manifests.permissions(gateway)
    expect(after.map(({ id: _, ...row }) => row)).toEqual(
      expect.arrayContaining(before.map(({ id: _, ...row }) => row)),
    )
    await manifests.apply('Gateway', 'platform/two', {})
    // Applied again without a change: nothing is different.
    await manifests.apply('Permission', 'team-b/again', spec)
    expect(await manifests.permissions(gateway)).toHaveLength(4)
    await manifests.apply('Permission', 'team-b/again', { ...spec, agents: ['bot'] })
    expect(await manifests.permissions(gateway)).toEqual([])
    await manifests.apply('Permission', 'team-b/again', spec)
    expect(await manifests.permissions(gateway)).toEqual([])
  })

  test('and that is deleted keeps nothing', async () => {
    const gateway = await sharedGateway('three')
    await manifests.apply('Permission', 'team-b/gone', { ...REFS('three'), ...PERMISSION })
    await manifests.apply('Policy', 'team-b/gone', { ...REFS('three'), ...when('codehost.x', 'deny') })
    await manifests.apply('Gateway', 'platform/three', {})
    expect(await manifests.permissions(gateway)).not.toEqual([])
    expect(await manifests.policies(gateway)).not.toEqual([])
    await manifests.remove('Permission', 'team-b/gone')
    await manifests.remove('Policy', 'team-b/gone')
    expect(await manifests.permissions(gateway)).toEqual([])
    expect(await manifests.policies(gateway)).toEqual([])
  })

  test('a Policy keeps its denies and holds for agents of its namespace, and loosens nothing', async () => {
    const gateway = await sharedGateway('four')
    const refs = REFS('four')
    await manifests.apply('Policy', 'platform/own', {
      ...{ gatewayRefs: [{ name: 'four' }] },
      ...{ ...when('codehost.repo.delete', 'deny'), priority: 10 },
    })
    await manifests.apply('Policy', 'team-b/no-merge', { ...refs, ...when('codehost.pr.merge', 'deny') })
    await manifests.apply('Policy', 'team-b/ask', {
      ...refs,
      ...when('codehost.issue.create', 'require_approval'),
    })
    for (const decision of ['allow', 'require_approval'])
      await manifests.apply('Policy', `team-b/loud-${decision.replace('_', '-')}`, {
        ...{ ...refs, ...when('codehost.repo.delete', decision, 1_000_000) },
      })
    await manifests.apply('Gateway', 'platform/four', {})
    const mine = 'team-b/bot'
    expect(await verdict(gateway, mine, 'codehost.pr.merge')).toBe('deny')
    expect(await verdict(gateway, mine, 'codehost.issue.create')).toBe('hold')
    expect(await verdict(gateway, mine, 'codehost.repo.delete')).toBe('deny')
    for (const other of ['team-a/bot', 'team-bb/bot', 'team-b', 'bot']) {
      expect(await verdict(gateway, other, 'codehost.pr.merge')).toBe('allow')
      expect(await verdict(gateway, other, 'codehost.repo.delete')).toBe('deny')
    }
    expect(await manifests.outcome('Policy', 'team-b/no-merge')).toMatchObject({
      accepted: false,
      problem: 'NamespaceNotAllowed',
    })
  })

  test('a Connector lends nothing more', async () => {
    const gateway = await sharedGateway('five')
    const spec = { type: 'codehost', credential: { secretRef: { name: 'c', key: 'token' } } }
    await manifests.apply('Connector', 'team-b/lent', { ...REFS('five'), ...spec }, 'ghp_lent')
    expect(await manifests.connectors(gateway)).toMatchObject([{ secret: 'ghp_lent' }])
    await manifests.apply('Gateway', 'platform/five', {})
    expect(await manifests.connectors(gateway)).toEqual([])
  })
})

describe('a Gateway that is deleted and made anew', () => {
  test.each([true, false])('is the same one for what was bound to it (admits: %s)', async (isAdmitted) => {
    const name = isAdmitted ? 'anew-yes' : 'anew-no'
    await manifests.apply('Gateway', `platform/${name}`, admits)
    await manifests.apply('Permission', `team-b/${name}`, { ...REFS(name), ...PERMISSION })
    await manifests.apply('Policy', `team-b/${name}`, { ...REFS(name), ...when('codehost.x', 'deny') })
    await manifests.remove('Gateway', `platform/${name}`)
    expect(await manifests.outcome('Policy', `team-b/${name}`)).toMatchObject({ accepted: false })
    const other = await sharedGateway(`${name}-other`)
    expect(await manifests.policies(other)).toEqual([])
    await manifests.apply('Gateway', `platform/${name}`, isAdmitted ? admits : {})
    const gateway = await replica.enrol(`platform/${name}`)
    expect(await verdict(gateway, 'team-b/bot', 'codehost.branch.delete')).toBe('deny')
    expect(await verdict(gateway, 'team-b/bot', 'codehost.x')).toBe('deny')
    if (!isAdmitted) expect(await verdict(gateway, 'team-a/bot', 'codehost.branch.delete')).toBe('allow')
    const grants = (await manifests.permissions(gateway)).filter(({ decision }) => decision === 'allow')
    expect(grants).toHaveLength(isAdmitted ? 2 : 0)
  })
})
