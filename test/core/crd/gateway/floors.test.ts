import { describe, expect, test } from 'vitest'
import { Floors, floored, floorText, readFloors } from '../../../../core/crd/gateway/floors.ts'
import { GatewaySpec } from '../../../../core/crd/gateway/gateway-spec.ts'
import { NO_FLOORS } from '../../../support/no-floors.ts'

const spec = (given: object = {}) => GatewaySpec.parse(given)
const rulesOf = (floors: object) => ({ floors: Floors.parse(floors), platformNamespaces: new Set<string>() })
const at = (given: object, floors: object) => floored(spec(given), 'team', rulesOf(floors))

/** From the least to the most strict. */
const ORDERED: ReadonlyArray<readonly [field: string, values: readonly unknown[]]> = [
  ['enforcementLevel', ['monitor', 'enforce_high_risk', 'full_enforce']],
  ['defaultDecision', ['allow', 'require_approval', 'deny']],
  ['egress.unmatchedHosts', ['tunnel', 'deny']],
  ['hardening', ['standard', 'strict']],
  ['failurePolicy.highRiskAfterSeconds', [86_400, 30, 1, 0]],
  ['failurePolicy.writesAfterSeconds', [86_400, 120, 1, 0]],
  ['failurePolicy.everythingAfterSeconds', [86_400, 600, 1, 0]],
]

const nested = (path: string, value: unknown): object =>
  path
    .split('.')
    .reverse()
    .reduce<unknown>((inner, key) => ({ [key]: inner }), value) as object
const read = (object: object, path: string) =>
  path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], object)
const inFloors = (field: string) => field.replace('egress.', '')

describe('a field and its floor', () => {
  test.each(ORDERED)(
    '%s is at least as strict as the floor, and unchanged if it is stricter',
    (field, values) => {
      for (const [w, written] of values.entries())
        for (const [f, floor] of values.entries()) {
          const { spec: held, below } = at(nested(field, written), nested(inFloors(field), floor))
          expect(read(held, field)).toBe(values[Math.max(w, f)])
          const own = below.filter((each) => each.field === `spec.${field}`)
          expect(own.map((each) => each.floor)).toEqual(w < f ? [`floors.${inFloors(field)}`] : [])
        }
    },
  )

  test.each(ORDERED)('%s without a floor stays unchanged', (field, values) => {
    for (const written of values) {
      const given = spec(nested(field, written))
      expect(floored(given, 'team', NO_FLOORS)).toEqual({ spec: given, below: [] })
    }
  })

  test('the stages of failurePolicy stay in order: the floor of a later one is that of the earlier ones too', () => {
    const floors = { failurePolicy: { highRiskAfterSeconds: 300, everythingAfterSeconds: 60 } }
    const { spec: held, below } = at({ failurePolicy: { highRiskAfterSeconds: 50 } }, floors)
    expect(held.failurePolicy).toEqual({
      highRiskAfterSeconds: 50,
      writesAfterSeconds: 60,
      everythingAfterSeconds: 60,
    })
    expect(below.map(({ field, floor }) => `${field} ${floor}`)).toEqual([
      'spec.failurePolicy.writesAfterSeconds floors.failurePolicy.everythingAfterSeconds',
      'spec.failurePolicy.everythingAfterSeconds floors.failurePolicy.everythingAfterSeconds',
    ])
  })

  test('only the fields with a floor change', () => {
    const given = spec({
      enforcementLevel: 'monitor',
      egress: { allowedHosts: ['a.example'] },
      rateLimit: { requestsPerMinute: 7 },
    })
    const { spec: held } = floored(given, 'team', rulesOf({ enforcementLevel: 'full_enforce' }))
    expect(held).toEqual({ ...given, enforcementLevel: 'full_enforce' })
  })

  test('Gateways of platform namespaces have no floor; every other one has, with any name', () => {
    const rules = {
      floors: Floors.parse({ enforcementLevel: 'full_enforce' }),
      platformNamespaces: new Set(['platform']),
    }
    const monitor = spec({ enforcementLevel: 'monitor' })
    expect(floored(monitor, 'platform', rules).below).toEqual([])
    for (const namespace of ['team', '', 'Platform', 'platform ', 'platform/x'])
      expect(floored(monitor, namespace, rules).spec.enforcementLevel, namespace).toBe('full_enforce')
  })

  test('the text names field, floor and both values', () => {
    const [below] = at({ enforcementLevel: 'monitor' }, { enforcementLevel: 'full_enforce' }).below
    expect(below && floorText(below)).toBe(
      'spec.enforcementLevel is monitor, which is weaker than the minimum floors.enforcementLevel of this installation (full_enforce)',
    )
  })
})

test.each([
  ['{', 'GATEWAY_FLOORS is not JSON'],
  ['[]', 'GATEWAY_FLOORS'],
  ['null', 'GATEWAY_FLOORS'],
  ['{"enforcementLevel":"strict"}', 'GATEWAY_FLOORS.enforcementLevel'],
  ['{"enforcmentLevel":"monitor"}', 'GATEWAY_FLOORS'],
  ['{"failurePolicy":{"writesAfterSeconds":-1}}', 'GATEWAY_FLOORS.failurePolicy.writesAfterSeconds'],
  ['{"failurePolicy":{"writesAfterSecond":1}}', 'GATEWAY_FLOORS.failurePolicy'],
])('GATEWAY_FLOORS=%s ends the start with the place', (text, place) => {
  expect(() => readFloors(text)).toThrow(place)
})

test('no GATEWAY_FLOORS sets no floor', () => {
  expect(readFloors(null)).toEqual(NO_FLOORS.floors)
})
