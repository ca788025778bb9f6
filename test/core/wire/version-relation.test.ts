import { describe, expect, test } from 'vitest'
import { greetingOf, NO_GREETING } from '../../../core/wire/gateway/greeting.ts'
import { countRelations, versionWarnings } from '../../../core/wire/gateway/version-relation.ts'

describe('the version of a gateway beside that of its control plane', () => {
  test.each([
    ['1.4.2', 'same'],
    ['1.4.2-rc.1', 'same'],
    ['1.4.3', 'newer'],
    ['1.5.0', 'newer'],
    ['2.0.0', 'newer'],
    ['1.4.1', 'older'],
    ['1.3.9', 'older'],
    ['1.2.0', 'older'],
    ['1.1.99', 'unsupported'],
    ['0.9.0', 'unsupported'],
    [null, 'unknown'],
    ['main', 'unknown'],
  ])('%s is %s for 1.4.2', (theirs, relation) => {
    expect(countRelations([theirs], '1.4.2')).toMatchObject({ [relation]: 1 })
  })

  test('a warning names number, version and what to do; none for the same and for unknown versions', () => {
    expect(versionWarnings(['1.4.2', null], '1.4.2')).toEqual([])
    expect(versionWarnings(['1.4.2', '1.3.0', '1.3.0', '1.0.0'], '1.4.2')).toEqual([
      '1 of 4 gateway processes (1.0.0) run a version that the control plane (1.4.2) does not support: the control plane supports the 2 previous minor versions. Restart them with a newer version.',
      '2 of 4 gateway processes (1.3.0) run an older version than the control plane (1.4.2). Restart them with the newer version; in a cluster, recreate their pods.',
    ])
  })

  test('counts have every relation, so that a metric has every series', () => {
    expect(countRelations(['1.4.2', '9.0.0'], '1.4.2')).toEqual({
      ...{ same: 1, older: 0, unsupported: 0, newer: 1, unknown: 0 },
    })
  })
})

describe('the greeting of a gateway', () => {
  test('names protocol and version', () => {
    expect(greetingOf({ 'x-gateway-protocol': '3', 'x-gateway-version': '1.2.3-rc.1' })).toEqual({
      protocol: 3,
      version: '1.2.3-rc.1',
    })
  })

  test.each([
    {},
    { 'x-gateway-protocol': '0', 'x-gateway-version': 'latest' },
    { 'x-gateway-protocol': '1e9', 'x-gateway-version': '<b>1.2.3</b>' },
    { 'x-gateway-protocol': ['2', '3'], 'x-gateway-version': `1.2.3-${'x'.repeat(100)}` },
  ])('counts as the first protocol without it or with an invalid one: %o', (headers) => {
    expect(greetingOf(headers)).toEqual(NO_GREETING)
  })
})
