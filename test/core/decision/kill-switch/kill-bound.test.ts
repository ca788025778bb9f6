import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boundedKills } from '../../../../core/decision/kill-switch/kill-bound.ts'
import { matchKill } from '../../../../core/decision/kill-switch/kill-switch.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'

const entry = (
  scope: string,
  source = 'dashboard',
  reason = 'incident',
  since = '2026-01-02T00:00:00Z',
): KillEntry => ({
  ...{ scope, source, reason, since },
})
const many = (count: number, source: string, scope: (at: number) => string, reason = 'r'.repeat(900)) =>
  Array.from({ length: count }, (_, at) => entry(scope(at), source, reason))
const sizeOf = (entries: readonly KillEntry[]) => Buffer.byteLength(JSON.stringify(entries))

describe('kill switches beyond the limit of a gateway', () => {
  test('are sent as they are up to the bound', () => {
    const entries = many(1_000, 'dashboard', (at) => `agent:a${at}`)
    expect(boundedKills(entries)).toEqual({ entries, isWhole: true })
  })

  test.each([
    ['dashboard', (at: number) => `agent:a${at}`, 'all'],
    ['dashboard', (at: number) => `agent:n${at}/a`, 'all'],
    ['dashboard:team', (at: number) => `agent:team/a${at}`, 'namespace:team'],
    [
      'kubectl:team',
      (at: number) => (at % 2 ? `gateway:team/g${at}` : `AGENT:Team/a${at}`),
      'namespace:team',
    ],
    ['configmap:team', (at: number) => `bare${at}`, 'namespace:team'],
    ['configmap', (at: number) => `connector:c${at}`, 'all'],
    ['manifest:team/edge', (at: number) => `agent:a${at}`, 'gateway:team/edge'],
    ['gateway:team/edge', (at: number) => `agent:team/a${at}`, 'all'],
    ['gateway:team/edge', (at: number) => `connector:c${at}`, 'all'],
  ])('of %s are replaced by one with the widest scope that they are within', (source, scope, widest) => {
    const small = entry('agent:x', 'cli')
    const { entries, isWhole } = boundedKills([small, ...many(2_000, source, scope)])
    expect(isWhole).toBe(false)
    expect(entries).toEqual([
      small,
      { ...entry(widest, source), reason: expect.stringContaining('2000 kill switches') },
    ])
  })

  test('of the largest source are replaced first, and no more than it takes', () => {
    const [large, small] = [
      many(1_100, 'cli', (at) => `agent:a${at}`),
      many(50, 'api', (at) => `agent:b${at}`),
    ]
    const { entries } = boundedKills([...small, ...large])
    expect(entries.filter(({ source }) => source === 'api')).toEqual(small)
    expect(entries.filter(({ source }) => source === 'cli')).toHaveLength(1)
  })

  test('of more sources than fit stop everything', () => {
    const entries = Array.from({ length: 9_000 }, (_, at) =>
      entry(`agent:${'a'.repeat(200)}${at}`, `gateway:ns/${at}`),
    )
    expect(boundedKills(entries).entries).toMatchObject([{ scope: 'all', source: 'control-plane' }])
  })

  test('of a source with one entry keep their scope: only the reason is cut', () => {
    const entries = Array.from({ length: 1_500 }, (_, at) =>
      entry(`agent:a${at}`, `gateway:ns/${at}`, 'r'.repeat(900)),
    )
    const bounded = boundedKills(entries).entries
    expect(sizeOf(bounded)).toBeLessThanOrEqual(1024 * 1024)
    expect(new Set(bounded.map(({ scope }) => scope))).toEqual(new Set(entries.map(({ scope }) => scope)))
  })

  test('stop all subjects that they stopped, and take no more bytes than the bound', () => {
    const name = fc.constantFrom('a', 'b', 'team/a', 'other/b')
    const scope = fc.oneof(
      fc.constant('all'),
      fc.tuple(fc.constantFrom('agent', 'gateway', 'connector'), name).map(([kind, of]) => `${kind}:${of}`),
      fc.constantFrom('namespace:team', 'namespace:other', 'a', 'b'),
    )
    const source = fc.constantFrom(
      'cli',
      'dashboard:team',
      'configmap',
      'configmap:team',
      'manifest:team/a',
      'gateway:team/a',
    )
    const entries = fc.array(
      fc
        .tuple(scope, source, fc.string({ maxLength: 300, unit: 'binary' }))
        .map(([a, b, c]) => entry(a, b, c)),
      { maxLength: 40 },
    )
    const subject = fc.record({
      ...{
        gateway: fc.constantFrom('team/a', 'other/b'),
        agent: fc.constantFrom('team/a', 'other/b', 'a', null),
      },
      ...{
        agentId: fc.constant(null),
        instance: fc.constant(null),
        connectors: fc.constantFrom(['a'], ['b'], []),
      },
    })
    fc.assert(
      fc.property(entries, subject, fc.integer({ min: 400, max: 4_000 }), (given, of, max) => {
        // What a Gateway's manifest says is sent to that Gateway alone.
        const sent = given.filter((each) => !each.source.startsWith('manifest:') || of.gateway === 'team/a')
        const { entries: bounded, isWhole } = boundedKills(sent, max)
        if (isWhole) expect(bounded).toEqual(sent)
        if (!isWhole && bounded.length > 1) expect(sizeOf(bounded)).toBeLessThanOrEqual(max + 2)
        if (matchKill(sent, of) !== null) expect(matchKill(bounded, of)).not.toBeNull()
      }),
    )
  })
})
