import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { startTenantWorld, type TenantGateway, type TenantWorld } from './tenant-world.ts'

let world: TenantWorld
const SECRET = 'secret-of-the-victim'
const HOST = 'api.victim.example'
const EVERY = { from: 'All' }
const OPEN = {
  allowedNamespaces: { permissions: EVERY, policies: EVERY, connectors: EVERY, agents: EVERY },
}

beforeAll(async () => {
  world = await startTenantWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

const apply: TenantWorld['manifests']['apply'] = (...given) => world.manifests.apply(...given)
const remove: TenantWorld['manifests']['remove'] = (...given) => world.manifests.remove(...given)
const permit = async (namespace: string) => {
  const spec = { gatewayRefs: [{ name: 'default' }], rules: [rule('generic.*', 'allow')] }
  expect(await apply('Permission', `${namespace}/all`, spec)).toMatchObject({ accepted: true })
}
const connector = (host: string, changes: object = {}) => ({
  ...{ type: 'generic', domains: [host], ports: [443, 80], auth: { type: 'bearer' } },
  upstream: { url: world.upstream.url, allowPrivateAddresses: true, allowPlaintextCredential: true },
  credential: { secretRef: { name: 's', key: 'token' } },
  ...changes,
})
const rule = (actionPattern: string, decision: string) => ({
  ...{ connectorType: 'generic', actionPattern, decision },
})
const secretsSeen = () =>
  world.upstream.seen.filter((seen) => JSON.stringify(seen.rawHeaders).includes(SECRET)).length

const allowing = { priority: 1_000_000, rules: [{ name: 'r', decision: 'allow' }] }

describe('a thief of credentials', () => {
  let thief: TenantGateway
  beforeAll(async () => {
    thief = await world.gateway('evil/default', OPEN)
    await permit('evil')
  })

  // The victim's references, none of which names the thief.
  const REFS = [
    ['a bare name', { gatewayRefs: [{ name: 'default' }] }],
    ['its own namespace', { gatewayRefs: [{ name: 'default', namespace: 'victim' }] }],
    ['two names', { gatewayRefs: [{ name: 'other' }, { name: 'default' }] }],
    ['nothing', {}],
  ] as const
  // What the thief does before or after the victim's Connector comes, and whether its own request then goes somewhere.
  const grab = (changes: object, credential?: string) =>
    apply('Connector', 'evil/grab', connector(HOST, changes), credential)
  const there = { gatewayRefs: [{ name: 'default', namespace: 'victim' }] }
  const TRICKS: ReadonlyArray<readonly [string, () => unknown]> = [
    ['does nothing', () => undefined],
    ['makes a Gateway of each name', () => apply('Gateway', 'evil/other', OPEN)],
    ['has a Connector of that host without a credential', () => grab({ credential: undefined })],
    ["names the victim's Secret", () => grab({})],
    ['has a credential of its own', () => grab({}, 'its-own')],
    ["names the victim's Gateway", () => grab(there)],
    [
      'permits itself in the namespace of the victim',
      () =>
        apply('Permission', 'evil/there', { ...there, agents: ['*'], rules: [rule('generic.*', 'allow')] }),
    ],
    ['has a Policy there that allows all', () => apply('Policy', 'evil/there', { ...there, ...allowing })],
  ]
  // In `npm test` each pair of references and trick in one order, each of the two by turns; in both in the nightly run.
  const cases = REFS.flatMap(([refs, given], row) =>
    TRICKS.flatMap(([trick, play], column) =>
      ['before', 'after']
        .filter((_, order) => IS_FULL || (row + column + order) % 2 === 0)
        .map((when) => ({ refs, given, trick, play, when })),
    ),
  )

  test.each(cases)(
    'that $trick $when a Connector that references $refs is there gets nothing',
    async ({ given, play, when }) => {
      if (when === 'before') await play()
      await apply('Connector', 'victim/payroll', connector(HOST, given), SECRET)
      if (when === 'after') await play()
      await world.caughtUp()
      expect([200, 403, 502]).toContain(await thief.send('evil/bot', 'GET', HOST))
      expect(secretsSeen()).toBe(0)
      await remove('Connector', 'victim/payroll')
      await remove('Connector', 'evil/grab')
      await remove('Permission', 'evil/there')
      await remove('Policy', 'evil/there')
      await remove('Gateway', 'evil/other')
    },
  )

  test('while the victim itself sends it, and each refusal of the thief has one record', async () => {
    // Refusals of one host and agent share a record for an hour, and of the other host there are some already.
    const otherHost = 'pay.victim.example'
    const own = await world.gateway('victim/default')
    await permit('victim')
    await apply('Connector', 'victim/payroll', connector(otherHost), SECRET)
    await world.caughtUp()
    const from = (await thief.records()).length
    expect(await thief.send('evil/bot', 'GET', otherHost)).toBe(403)
    expect(secretsSeen()).toBe(0)
    const records = await eventually('its record', async () => {
      const all = await thief.records()
      return all.length > from ? all : null
    })
    expect(records.length - from).toBe(1)
    expect(records[0]).toMatchObject({ decision: 'DENY', host: otherHost })
    expect(await own.send('victim/bot', 'GET', otherHost)).toBe(200)
    expect(secretsSeen()).toBe(1)
  })
})

describe('a tenant of a shared Gateway', () => {
  const shared = { gatewayRefs: [{ name: 'shared', namespace: 'platform' }] }
  const listed = { from: 'Selector', names: ['team-a', 'team-b'] }
  const admitting = { allowedNamespaces: { permissions: listed, policies: listed, connectors: listed } }
  const rateLimit = { requestsPerMinute: 1_000_000 }
  const B = 'b.example'
  const everything = (decision: string) => ({
    ...{ ...shared, priority: 1_000_000, rules: [{ name: 'r', decision }] },
  })
  let gateway: TenantGateway

  beforeAll(async () => {
    gateway = await world.gateway('platform/shared', { ...admitting, rateLimit })
    await apply('Connector', 'team-b/b', connector(B, shared), 'secret-of-b', {
      createdAt: '2026-01-01T00:00:00Z',
    })
    await apply('Permission', 'team-b/p', {
      ...{ ...shared, rules: [rule('generic.*', 'allow'), rule('generic.put', 'deny')] },
    })
    await apply('Policy', 'team-b/no-delete', {
      ...{ ...shared, scope: { actions: ['generic.delete'] } },
      rules: [{ name: 'never', decision: 'deny' }],
    })
    await world.caughtUp()
    expect(await gateway.send('team-b/bot', 'GET', B)).toBe(200)
  })

  // What team-a does. It may all be undone by removing the object.
  const DEEDS: ReadonlyArray<
    readonly ['Gateway' | 'Connector' | 'Permission' | 'Policy', string, () => object]
  > = [
    ['Gateway', 'shared', () => OPEN],
    ['Gateway', 'platform', () => OPEN],
    ['Gateway', 'default', () => OPEN],
    ['Policy', 'no-delete', () => everything('allow')],
    ['Policy', 'deny-all', () => everything('deny')],
    ['Policy', 'hold-all', () => everything('require_approval')],
    ['Policy', 'broken', () => ({ ...shared, rules: [{ name: 'r', conditions: ['('], decision: 'deny' }] })],
    ['Policy', 'unreadable', () => ({ ...shared, scope: 7, rules: 'none' })],
    ['Permission', 'p', () => ({ ...shared, rules: [rule('generic.*', 'allow')] })],
    ['Permission', 'exact', () => ({ ...shared, agents: ['*'], rules: [rule('generic.delete', 'allow')] })],
    ['Permission', 'denies', () => ({ ...shared, agents: ['*'], rules: [rule('generic.get', 'deny')] })],
    [
      'Permission',
      'names',
      () => ({ ...shared, agents: ['team-b/bot'], rules: [rule('generic.put', 'allow')] }),
    ],
    [
      'Permission',
      'group',
      () => ({ ...shared, agents: ['team-b/*'], rules: [rule('generic.get', 'deny')] }),
    ],
    ['Connector', 'b', () => connector(B, shared)],
    ['Connector', 'first', () => connector(B, { ...shared, upstream: { url: 'http://127.0.0.1:1' } })],
    ['Connector', 'capital', () => connector('B.EXAMPLE', shared)],
    ['Connector', 'wildcard', () => connector('*.example', shared)],
  ]

  test('changes nothing for the agents of another one while these send requests', async () => {
    let isOver = false
    const answers = { GET: [] as number[], PUT: [] as number[], DELETE: [] as number[] }
    const sender = async () => {
      while (!isOver)
        for (const method of ['GET', 'PUT', 'DELETE'] as const)
          answers[method].push(await gateway.send('team-b/bot', method, B))
    }
    const sending = sender()
    for (const [kind, name, spec] of [...DEEDS, ...DEEDS.toReversed()]) {
      await apply(kind, `team-a/${name}`, spec(), kind === 'Connector' ? 'secret-of-a' : undefined, {
        createdAt: '2026-01-02T00:00:00Z',
      })
      await world.caughtUp()
      const sent = answers.DELETE.length
      await eventually('two more of each are sent', () => (answers.DELETE.length > sent + 2 ? true : null))
      await remove(kind, `team-a/${name}`)
    }
    isOver = true
    await sending
    expect(new Set(answers.GET)).toEqual(new Set([200]))
    expect(new Set([...answers.PUT, ...answers.DELETE])).toEqual(new Set([403]))
    const seen = world.upstream.seen.filter((each) => each.header('host')?.toLowerCase() === B)
    expect(new Set(seen.map(({ method }) => method))).toEqual(new Set(['GET']))
    expect(new Set(seen.map((each) => each.header('authorization')))).toEqual(new Set(['Bearer secret-of-b']))
  }, 120_000)

  test('keeps its denies when the Gateway admits it no more', async () => {
    const from = world.upstream.seen.length
    await apply(
      'Connector',
      'platform/b',
      connector('other.example', { gatewayRefs: [{ name: 'shared' }] }),
      'own',
    )
    await apply('Permission', 'platform/all', {
      ...{ gatewayRefs: [{ name: 'shared' }], rules: [rule('generic.*', 'allow')] },
    })
    await apply('Gateway', 'platform/shared', { rateLimit })
    await world.caughtUp()
    const send = (method: string) => gateway.send('team-b/bot', method, 'other.example')
    expect(await send('PUT')).toBe(403)
    expect(await send('DELETE')).toBe(403)
    expect(world.upstream.seen.length).toBe(from)
    expect(await send('GET')).toBe(200)
    expect(await gateway.send('team-a/bot', 'DELETE', 'other.example')).toBe(200)
  })
})
