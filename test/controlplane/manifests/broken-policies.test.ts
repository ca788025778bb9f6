import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import { decide } from '../../../core/decision/decide.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { actionOf } from '../../core/decision/fixtures.ts'
import { type Enrolled, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled
let shared: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('team/main')
  shared = await replica.enrol('other/shared')
  await put('Gateway', 'main', {}, { namespace: 'team' })
  await put(
    'Gateway',
    'shared',
    { allowedNamespaces: { policies: { from: 'Selector', names: ['team'] } } },
    { namespace: 'other' },
  )
  await allow('main', 'team')
  await allow('shared', 'other')
})
afterAll(() => world.stop())

type Held = { accepted: boolean; in_force: string; reasons: string[]; warnings: string[]; version: number }
type Extra = {
  namespace?: string
  source?: 'kubernetes' | 'file'
  file?: string
  problems?: string[]
  unnamed?: 'policy' | 'unknown'
  generation?: number
}

const body = (kind: string, name: string, spec: unknown, extra: Extra = {}) => {
  const {
    namespace = 'team',
    source = 'kubernetes',
    file = `kubernetes ${kind} ${namespace}/${name}`,
  } = extra
  const { problems, unnamed, generation = 1 } = extra
  return {
    ...{ uid: `uid-${kind}-${namespace}-${name}`, generation, source, managed_by: file, problems, unnamed },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  }
}

async function put(kind: string, name: string, spec: unknown, extra: Extra = {}): Promise<Held> {
  const { namespace = 'team' } = extra
  const path = `/api/operator/objects/${kind}/${namespace}/${name}`
  const reply = await replica.operator('PUT', path, body(kind, name, spec, extra))
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body as Held
}

const remove = (kind: string, name: string, namespace = 'team') =>
  replica.operator('DELETE', `/api/operator/objects/${kind}/${namespace}/${name}`)

async function allow(name: string, namespace: string): Promise<void> {
  const rules = [{ connectorType: 'generic', actionPattern: 'generic.*', decision: 'allow' }]
  await put('Permission', `all-${name}`, { gatewayRefs: [{ name }], rules }, { namespace })
}

/** What a gateway has in force, as it is sent to it. */
async function snapshotOf({ id }: Enrolled): Promise<Snapshot> {
  const library = createSectionLibrary({
    db: replica.db,
    keyring: world.keyring,
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
  await library.reload()
  const set = library.of(id)
  if (set === null) throw new Error('the gateway has no sections')
  const sections = Object.fromEntries([...set.texts].map(([name, text]) => [name, JSON.parse(text)]))
  return buildSnapshot({ version: set.version, sections, hashes: set.hashes })
}

async function decisionOf(type: string, { of = gateway, agent = 'team/bot' } = {}) {
  const { permissions, policies, gateway: own } = await snapshotOf(of)
  const rules = { permissions, policies, level: own.level, defaultVerdict: own.defaultVerdict }
  const facts = { id: 'agent_1', name: agent, environment: 'test', runtime: 'x', status: 'active' as const }
  return decide(rules, {
    ...{ action: actionOf({ type }), agent: facts, gateway: { name: own.name }, nowMs: 0 },
    connector: { name: 'c', type: 'generic' },
  })
}

const DENY = { name: 'no', conditions: ['action.type == "generic.delete"'], decision: 'deny' }
const GOOD = { scope: { actions: ['generic.delete'] }, rules: [DENY] }
const rule = (conditions: string[]) => ({ ...GOOD, rules: [{ ...DENY, conditions }] })
const failing = {
  name: 'never',
  action: { type: 'generic.delete', resource: { provider: 'generic' } },
  expect: { outcome: 'allow' },
}

const denying = { ...failing, name: 'denied', expect: { outcome: 'deny' } }

/** Each is wrong at its first apply; `generic.get` is outside of the scope where the scope is legible. */
const BROKEN: ReadonlyArray<readonly [string, unknown, 'scope' | 'all']> = [
  ['a condition that is no CEL', rule(['action.type ==']), 'scope'],
  ['an unknown field of a fact', rule(['action.efect == "write"']), 'scope'],
  ['an unknown fact', rule(['acton.type == "x"']), 'scope'],
  ['an unknown function', rule(['action.type.startWith("x")']), 'scope'],
  ['a condition that is no boolean', rule(['1 + 1']), 'scope'],
  ['a test that fails', { ...GOOD, tests: [failing] }, 'scope'],
  [
    'a scope that leaves out what its test denies',
    { ...GOOD, scope: { actions: ['generic.put'] }, tests: [denying] },
    'all',
  ],
  [
    'agents that leave out what its test denies',
    { ...GOOD, scope: { ...GOOD.scope, agents: ['nobody'] }, tests: [denying] },
    'all',
  ],
  [
    'a misspelt action beside a condition',
    { ...rule(['nope']), scope: { actions: ['generic.delte'] } },
    'all',
  ],
  ['a misspelt decision', { ...GOOD, rules: [{ ...DENY, decision: 'denny' }] }, 'scope'],
  ['a misspelt field of a rule', { ...GOOD, rules: [{ ...DENY, condtions: [] }] }, 'scope'],
  ['no rules', { scope: GOOD.scope, rules: [] }, 'scope'],
  ['rules that are no list', { scope: GOOD.scope, rules: 'none' }, 'scope'],
  ['a misspelt mode', { ...GOOD, mode: 'montior' }, 'scope'],
  ['a priority out of range', { ...GOOD, priority: 1e15 }, 'scope'],
  ['a misspelt scope', { scoop: GOOD.scope, rules: [DENY] }, 'all'],
  ['a misspelt field of the scope', { scope: { action: ['generic.delete'] }, rules: [DENY] }, 'all'],
  ['a scope that is no object', { scope: 'generic.delete', rules: [DENY] }, 'all'],
  ['a pattern with an inner star', { scope: { actions: ['generic.*.x'] }, rules: [DENY] }, 'all'],
  ['a spec that is no object', 'deny everything', 'all'],
  ['no spec', null, 'all'],
  ['a list as spec', [GOOD], 'all'],
]

describe('a policy that was never in force', () => {
  test.each(BROKEN)(
    'with %s denies what its scope covers until it is corrected',
    async (_name, spec, reach) => {
      const reply = await put('Policy', 'broken', spec)
      expect(reply).toMatchObject({ accepted: false, in_force: 'denied' })
      expect(reply.reasons.length).toBeGreaterThan(0)
      const denied = await decisionOf('generic.delete')
      expect(denied).toMatchObject({ verdict: 'deny', source: 'policy_invalid' })
      expect(denied.reason).toContain('"team/broken"')
      expect(denied.reason).toContain('policy_invalid')
      expect((await decisionOf('generic.get')).verdict).toBe(reach === 'all' ? 'deny' : 'allow')

      expect(await put('Policy', 'broken', GOOD)).toMatchObject({ accepted: true, in_force: 'as_written' })
      expect(await decisionOf('generic.delete')).toMatchObject({ verdict: 'deny', source: 'policy' })
      expect((await decisionOf('generic.get')).verdict).toBe('allow')
      await remove('Policy', 'broken')
      expect((await decisionOf('generic.delete')).verdict).toBe('allow')
    },
  )

  test.each(BROKEN)('and then broken by %s keeps its last good version', async (_name, spec) => {
    await put('Policy', 'once-good', GOOD)
    const reply = await put('Policy', 'once-good', spec)
    expect(reply).toMatchObject({ accepted: false, in_force: 'last_good' })
    expect(await decisionOf('generic.delete')).toMatchObject({ verdict: 'deny', source: 'policy' })
    expect((await decisionOf('generic.get')).verdict).toBe('allow')
    await remove('Policy', 'once-good')
  })

  test.each([
    ['mode monitor', { ...rule(['action.tpye == "x"']), mode: 'monitor' }],
    ['mode monitor beside an illegible scope', { scope: 1, rules: [DENY], mode: 'monitor' }],
  ])('denies nothing in %s', async (_name, spec) => {
    expect(await put('Policy', 'watching', spec)).toMatchObject({ accepted: false, in_force: 'nothing' })
    expect((await decisionOf('generic.delete')).verdict).toBe('allow')
    await remove('Policy', 'watching')
  })

  test('follows its mode and its scope while it is corrected step by step', async () => {
    await put('Policy', 'steps', { ...rule(['nope']), mode: 'monitor' })
    expect((await decisionOf('generic.delete')).verdict).toBe('allow')
    await put('Policy', 'steps', rule(['nope']))
    expect((await decisionOf('generic.delete')).verdict).toBe('deny')
    await put('Policy', 'steps', { ...rule(['nope']), scope: { actions: ['generic.put'] } })
    expect((await decisionOf('generic.delete')).verdict).toBe('allow')
    expect((await decisionOf('generic.put')).verdict).toBe('deny')
    await remove('Policy', 'steps')
  })

  test('is allowed by no other policy, whatever its priority', async () => {
    const loosening = { rules: [{ name: 'all', decision: 'allow' }], priority: 1_000_000 }
    await put('Policy', 'loosening', loosening)
    await put('Policy', 'broken', rule(['nope']))
    expect((await decisionOf('generic.delete')).verdict).toBe('deny')
    await remove('Policy', 'broken')
    await remove('Policy', 'loosening')
  })

  test('denies the agents of its own namespace only, on every gateway that it is for', async () => {
    await put('Policy', 'tenant', {
      ...rule(['nope']),
      gatewayRefs: [{ name: 'shared', namespace: 'other' }],
    })
    const on = (agent: string) => decisionOf('generic.delete', { of: shared, agent })
    expect((await on('team/bot')).verdict).toBe('deny')
    for (const agent of ['other/bot', 'team-b/bot', 'teamx/bot', 'bot', 'TEAM/bot', 'other/team/bot'])
      expect((await on(agent)).verdict, agent).toBe('allow')
    expect((await decisionOf('generic.delete')).verdict).toBe('allow')
    await remove('Policy', 'tenant')
  })

  test('denies agents without a namespace on the gateways of its own', async () => {
    await put('Policy', 'tenant', rule(['nope']))
    expect((await decisionOf('generic.delete', { agent: 'laptop' })).verdict).toBe('deny')
    await remove('Policy', 'tenant')
  })

  test('with illegible references is for the gateways of its namespace', async () => {
    expect(await put('Policy', 'lost', { ...GOOD, gatewayRefs: 'main' })).toMatchObject({
      in_force: 'denied',
    })
    expect((await decisionOf('generic.delete')).verdict).toBe('deny')
    expect((await decisionOf('generic.delete', { of: shared, agent: 'team/bot' })).verdict).toBe('allow')
    await remove('Policy', 'lost')
  })

  test('is shown with its cause, and in the audit log', async () => {
    await put('Policy', 'shown', rule(['action.efect == "write"']))
    const { body } = await replica.user(person({ role: 'viewer' }), 'GET', '/api/dashboard/manifests')
    const shown = (body['objects'] as Record<string, unknown>[]).find(({ name }) => name === 'shown')
    expect(shown).toMatchObject({
      accepted: false,
      in_force: 'denied',
      reasons: [expect.stringContaining('effect')],
    })
    await remove('Policy', 'shown')
  })
})

describe('a text in force that no longer compiles', () => {
  const outdate = async (text: string) => {
    await put('Policy', 'old', GOOD)
    await replica.db.query("update policies set active_yaml = $1 where name = 'team/old'", [text])
  }

  test('stays: its conditions count as such that cannot be evaluated, and the status says so', async () => {
    await outdate(`scope: { actions: [generic.delete, generic.put] }
rules:
  - { name: loosen, conditions: ['action.gone == 1'], decision: allow }
  - { name: tighten, conditions: ['action.gone == 1'], decision: deny }
`)
    expect(await decisionOf('generic.delete')).toMatchObject({ verdict: 'deny', source: 'policy' })
    expect((await decisionOf('generic.get')).verdict).toBe('allow')
    const reply = await put('Policy', 'old', rule(['action.gone == 1']))
    expect(reply).toMatchObject({ accepted: false, in_force: 'tightened' })
    await remove('Policy', 'old')
  })

  test('and that is no policy any more denies its scope', async () => {
    await outdate('scope: { actions: [generic.delete] }\nrules: [{ name: x, decision: maybe }]\n')
    expect(await decisionOf('generic.delete')).toMatchObject({ verdict: 'deny', source: 'policy_invalid' })
    expect((await decisionOf('generic.get')).verdict).toBe('allow')
    await outdate('{{{{')
    expect((await decisionOf('generic.get')).verdict).toBe('deny')
    await remove('Policy', 'old')
  })
})

describe('a change set', () => {
  const change = async (set: object) => {
    const reply = await replica.operator('POST', '/api/operator/changes', { source: 'file', ...set })
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return reply.body as { replies: Held[]; removed: number; missing: object[] }
  }
  const file = { source: 'file', file: 'a.yaml' } as const

  test('is one version, whatever is in it', async () => {
    const before = (await put('Gateway', 'main', {}, {})).version
    const objects = [
      body(
        'Permission',
        'set',
        {
          gatewayRefs: [{ name: 'main' }],
          rules: [{ connectorType: 'mcp', actionPattern: 'mcp.*', decision: 'allow' }],
        },
        file,
      ),
      body('Connector', 'set', { type: 'generic', domains: ['set.example'] }, file),
      body('Policy', 'set', GOOD, file),
    ]
    const { replies } = await change({ objects })
    expect(replies.map(({ accepted, version }) => [accepted, version])).toEqual(
      Array(3).fill([true, before + 1]),
    )
    const present = objects
      .slice(0, 1)
      .map(({ uid, resource: { kind, metadata } }) => ({ kind, ...metadata, uid }))
    expect(await change({ objects: [], present })).toMatchObject({ removed: 2, missing: [] })
    expect((await put('Gateway', 'main', {}, {})).version).toBe(before + 2)
    await change({ objects: [], present: [] })
  })

  test('lets a domain move between its connectors', async () => {
    const connector = (name: string, domain: string) =>
      body('Connector', name, { type: 'generic', domains: [domain] }, file)
    await change({ objects: [connector('a', 'x.example'), connector('b', 'y.example')] })
    const { replies } = await change({ objects: [connector('a', 'y.example'), connector('b', 'z.example')] })
    expect(replies.map(({ accepted }) => accepted)).toEqual([true, true])
    await change({ objects: [], present: [] })
  })

  test('with a policy that its source cannot use denies, for all agents of a folder', async () => {
    const problems = ['line 3: unknown field spec.scoop']
    await change({ objects: [body('Policy', 'odd', { scope: GOOD.scope }, { ...file, problems })] })
    expect((await decisionOf('generic.delete', { agent: 'anyone' })).verdict).toBe('deny')
    expect((await decisionOf('generic.get', { agent: 'anyone' })).verdict).toBe('allow')
    await change({ objects: [], present: [] })
  })

  test('with an illegible document denies everything, unless the document is another version of what is in force', async () => {
    const lost = body('Policy', 'lost.a.yaml', null, {
      ...file,
      problems: ['not valid YAML'],
      unnamed: 'unknown',
    })
    const present = [{ kind: 'Policy', namespace: 'team', name: 'lost.a.yaml', uid: lost.uid }]
    const problems = [{ file: 'a.yaml', line: 1, message: 'not valid YAML' }]
    await change({ objects: [lost], present, problems })
    expect((await decisionOf('generic.get')).verdict).toBe('deny')
    await change({ objects: [body('Policy', 'named', GOOD, file)], present: [], problems: [] })
    expect((await decisionOf('generic.get')).verdict).toBe('allow')
    const { replies } = await change({ objects: [lost], present, problems })
    expect(replies).toMatchObject([{ accepted: false, in_force: 'last_good' }])
    expect((await decisionOf('generic.get')).verdict).toBe('allow')
    expect((await decisionOf('generic.delete')).verdict).toBe('deny')
    // Two illegible documents, and one policy that one of them may be.
    const second = {
      ...lost,
      resource: { ...lost.resource, metadata: { name: 'lost2.a.yaml', namespace: 'team' } },
    }
    await change({ objects: [lost, second], present, problems })
    expect((await decisionOf('generic.get')).verdict).toBe('deny')
    await change({ objects: [], present: [], problems: [] })
    expect((await decisionOf('generic.delete')).verdict).toBe('allow')
  })
})
