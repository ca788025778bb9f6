import { describe, expect, test } from 'vitest'
import { type GuestGateway, useGuestGateways } from './guest-gateways.ts'

const guests = useGuestGateways('c')

const OLD = '2026-01-01T00:00:00Z'
const YOUNG = '2026-01-02T00:00:00Z'
type Spec = Readonly<Record<string, unknown>>
const claim = (
  path: string,
  places: readonly GuestGateway[],
  spec: Spec,
  made: { createdAt: string; uid?: string },
) =>
  guests.manifests.apply(
    'Connector',
    path,
    { type: 'generic', auth: { type: 'none' }, gatewayRefs: places.map(({ ref }) => ref), ...spec },
    null,
    made,
  )
/** `connector: domains` of every connector at the Gateway. */
const hosts = async ({ enrolled }: GuestGateway) =>
  (await guests.manifests.connectors(enrolled))
    .map(({ name, domains }) => `${name}: ${domains.join(' ')}`)
    .sort()

describe('an older guest that is edited', () => {
  /** What the older guest first claims, and what it becomes; the younger one has `pay.example`. */
  const EDITS: ReadonlyArray<readonly [string, Spec, Spec]> = [
    ['adds the host', { domains: ['x.example'] }, { domains: ['x.example', 'pay.example'] }],
    ['becomes the host', { domains: ['x.example'] }, { domains: ['pay.example'] }],
    ['adds a wildcard over it', { domains: ['x.example'] }, { domains: ['x.example', '*.example'] }],
    ['spells it otherwise', { domains: ['x.example'] }, { domains: ['PAY.Example'] }],
    [
      'gets a base URL there',
      { domains: ['x.example'] },
      { domains: ['x.example'], baseUrl: 'https://pay.example' },
    ],
    ['becomes a base URL there', { domains: ['x.example'] }, { baseUrl: 'https://pay.example/v1' }],
    [
      'adds the port',
      { domains: ['pay.example'], ports: [8443] },
      { domains: ['pay.example'], ports: [8443, 443] },
    ],
    ['changes the port', { domains: ['pay.example'], ports: [8443] }, { domains: ['pay.example'] }],
    [
      'leaves TLS, whose port counts alike',
      { domains: ['pay.example'], ports: [8443] },
      { domains: ['pay.example'], ports: [80] },
    ],
    ['moves the wildcard', { domains: ['*.other.example'] }, { domains: ['*.example'] }],
    ['changes its type as well', { domains: ['x.example'] }, { type: 'webhook', domains: ['pay.example'] }],
  ]

  test.each(EDITS)('takes no host of a younger one: it %s', async (_, before, after) => {
    const place = await guests.gateway()
    const [guest, victim] = [`team-b/guest-${guests.count}`, `team-a/victim-${guests.count}`]
    await claim(guest, [place], before, { createdAt: OLD })
    await claim(victim, [place], { domains: ['pay.example'] }, { createdAt: YOUNG })
    const reply = await claim(guest, [place], after, { createdAt: OLD })
    expect(await hosts(place)).toContain(`${victim}: pay.example`)
    expect((await hosts(place)).filter((line) => /pay\.example|\*\.example/i.test(line))).toHaveLength(
      JSON.stringify(before).includes('pay.example') ? 2 : 1,
    )
    expect(reply.reasons.join()).toContain(`to the connector ${victim}`)
    expect(reply.problem).toBe('Conflict')
    // Again, and after the victim was applied again.
    await claim(guest, [place], after, { createdAt: OLD })
    await claim(victim, [place], { domains: ['pay.example'] }, { createdAt: YOUNG })
    expect(await hosts(place)).toContain(`${victim}: pay.example`)
  })

  test('gets no host by naming another Gateway', async () => {
    const [one, two] = [await guests.gateway(), await guests.gateway()]
    const [guest, victim] = [`team-b/guest-${guests.count}`, `team-a/victim-${guests.count}`]
    await claim(guest, [one], { domains: ['pay.example'] }, { createdAt: OLD })
    await claim(victim, [two], { domains: ['pay.example'] }, { createdAt: YOUNG })
    await claim(guest, [one, two], { domains: ['pay.example'] }, { createdAt: OLD })
    expect(await hosts(one)).toEqual([`${guest}: pay.example`])
    expect(await hosts(two)).toEqual([`${victim}: pay.example`])
  })

  test('loses the age of its claim on a host that it gave up and claims again', async () => {
    const place = await guests.gateway()
    const [guest, victim] = [`team-b/guest-${guests.count}`, `team-a/victim-${guests.count}`]
    await claim(guest, [place], { domains: ['pay.example', 'x.example'] }, { createdAt: OLD })
    await claim(guest, [place], { domains: ['x.example'] }, { createdAt: OLD })
    await claim(victim, [place], { domains: ['pay.example'] }, { createdAt: YOUNG })
    await claim(guest, [place], { domains: ['pay.example', 'x.example'] }, { createdAt: OLD })
    expect(await hosts(place)).toEqual([`${victim}: pay.example`, `${guest}: x.example`].sort())
  })

  test('takes nothing while a text between was refused', async () => {
    const place = await guests.gateway()
    const [guest, victim] = [`team-b/guest-${guests.count}`, `team-a/victim-${guests.count}`]
    await claim(guest, [place], { domains: ['x.example'] }, { createdAt: OLD })
    await claim(victim, [place], { domains: ['pay.example'] }, { createdAt: YOUNG })
    await claim(guest, [place], { domains: ['x.example', 'pay.example'], tls: 'no' }, { createdAt: OLD })
    await claim(guest, [place], { domains: ['x.example', 'pay.example'] }, { createdAt: OLD })
    expect(await hosts(place)).toEqual([`${victim}: pay.example`, `${guest}: x.example`].sort())
  })
})

describe('what keeps the age of a claim', () => {
  const KEPT: ReadonlyArray<readonly [string, Spec, Spec]> = [
    ['another field', { domains: ['pay.example'] }, { domains: ['pay.example'], environment: 'prod' }],
    ['another host beside it', { domains: ['pay.example'] }, { domains: ['pay.example', 'new.example'] }],
    [
      'another port beside it',
      { domains: ['pay.example'] },
      { domains: ['pay.example'], ports: [443, 9443] },
    ],
    ['a host of its own wildcard', { domains: ['*.example'] }, { domains: ['pay.example'] }],
  ]
  test.each(KEPT)('%s: the older guest comes before a younger one that waits', async (_, before, after) => {
    const place = await guests.gateway()
    const [keeper, rival] = [`team-a/keeper-${guests.count}`, `team-b/rival-${guests.count}`]
    await claim(keeper, [place], before, { createdAt: OLD })
    await claim(rival, [place], { domains: ['pay.example'], ports: [443, 9443] }, { createdAt: YOUNG })
    const reply = await claim(keeper, [place], after, { createdAt: OLD })
    expect(reply).toMatchObject({ accepted: true, problem: null })
    expect((await hosts(place)).join()).not.toContain(rival)
  })

  test('an object of the same name that is made anew begins anew', async () => {
    const place = await guests.gateway()
    const [first, second] = [`team-b/first-${guests.count}`, `team-a/second-${guests.count}`]
    await claim(first, [place], { domains: ['pay.example'] }, { createdAt: OLD, uid: `u1-${guests.count}` })
    await claim(second, [place], { domains: ['pay.example'] }, { createdAt: YOUNG })
    const anew = { createdAt: '2026-01-03T00:00:00Z', uid: `u2-${guests.count}` }
    await claim(first, [place], { domains: ['pay.example'] }, anew)
    expect(await hosts(place)).toEqual([`${second}: pay.example`])
  })
})

describe('each host has its own winner', () => {
  test('who loses one host keeps the others, and the status names the one', async () => {
    const place = await guests.gateway()
    const [first, second] = [`team-a/first-${guests.count}`, `team-b/second-${guests.count}`]
    await claim(first, [place], { domains: ['a.example', 'b.example'] }, { createdAt: OLD })
    const reply = await claim(second, [place], { domains: ['b.example', 'c.example'] }, { createdAt: YOUNG })
    expect(reply).toMatchObject({ accepted: true, problem: 'Conflict', gateways: [place.name] })
    expect(reply.reasons.join()).toContain('the host b.example belongs to the connector')
    expect(await hosts(place)).toEqual([`${first}: a.example b.example`, `${second}: c.example`])
    await guests.manifests.remove('Connector', first)
    expect(await hosts(place)).toEqual([`${second}: b.example c.example`])
    expect(await guests.manifests.outcome('Connector', second)).toMatchObject({
      accepted: true,
      problem: null,
    })
  })

  test.each(['012', '021', '102', '120', '201', '210'])(
    'three that each come first at one host keep it, in the order %s',
    async (order) => {
      const place = await guests.gateway()
      const names = ['team-a', 'team-b', 'team-c'].map((team) => `${team}/ring-${guests.count}`)
      const first = [['a.example'], ['b.example'], ['c.example']]
      const next = ['c.example', 'a.example', 'b.example']
      for (const at of order)
        await claim(names[Number(at)] ?? '', [place], { domains: first[Number(at)] }, { createdAt: OLD })
      for (const at of order)
        await claim(
          names[Number(at)] ?? '',
          [place],
          { domains: [...(first[Number(at)] ?? []), next[Number(at)]] },
          { createdAt: OLD },
        )
      expect(await hosts(place)).toEqual(names.map((name, at) => `${name}: ${first[at]?.[0]}`))
    },
  )

  test('three with base URLs that each come first at one host end without two at one host', async () => {
    const place = await guests.gateway()
    const names = ['team-a', 'team-b', 'team-c'].map((team) => `${team}/base-${guests.count}`)
    const own = ['a.example', 'b.example', 'c.example']
    const next = ['c.example', 'a.example', 'b.example']
    for (const [at, name] of names.entries())
      await claim(name, [place], { domains: [own[at]] }, { createdAt: OLD })
    for (const [at, name] of names.entries())
      await claim(name, [place], { domains: [own[at]], baseUrl: `https://${next[at]}` }, { createdAt: OLD })
    const served = (await hosts(place)).flatMap((line) => line.split(': ')[1]?.split(' ') ?? [])
    expect(new Set(served).size).toBe(served.length)
  })
})
