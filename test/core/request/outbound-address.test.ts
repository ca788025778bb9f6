import { describe, expect, test } from 'vitest'
import { parseCidr } from '../../../core/request/address.ts'
import {
  type Address,
  checkedAddresses,
  hostOf,
  pinnedLookup,
  type Reach,
} from '../../../core/request/outbound-address.ts'

const addresses = (...list: string[]): readonly Address[] =>
  list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

/** Answers differently each time, as a name under an attacker's control does. */
function resolverOf(...answers: ReadonlyArray<readonly Address[]>) {
  const asked: string[] = []
  return {
    asked,
    resolve: async (host: string) => {
      asked.push(host)
      return answers[asked.length - 1] ?? []
    },
  }
}

const RANGE = parseCidr('10.1.0.0/16')
const RANGES: Reach = RANGE === null ? [] : [RANGE]

describe('the addresses of a destination', () => {
  const CASES: ReadonlyArray<readonly [Reach, string[], boolean]> = [
    ['public', ['93.184.216.34'], true],
    ['public', ['93.184.216.34', '2606:4700::1111'], true],
    ['public', ['127.0.0.1'], false],
    ['public', ['93.184.216.34', '10.0.0.1'], false],
    ['public', ['::ffff:93.184.216.34'], false],
    ['private', ['127.0.0.1', '10.0.0.1', '::1', 'fd12::1', '93.184.216.34'], true],
    ['private', ['169.254.169.254'], false],
    ['private', ['10.0.0.1', '::ffff:169.254.169.254'], false],
    ['private', ['64:ff9b::a9fe:a9fe'], false],
    ['private', ['0.0.0.0'], false],
    ['private', ['not-an-address'], false],
    [RANGES, ['10.1.2.3'], true],
    [RANGES, ['10.2.0.1'], false],
    [RANGES, ['10.1.2.3', '169.254.169.254'], false],
  ]
  test.each(CASES)('reach %s, name with %s: %s', async (reach, list, ok) => {
    const { resolve } = resolverOf(addresses(...list))
    expect(await checkedAddresses('name.example', reach, resolve)).toMatchObject({ ok })
  })

  test.each(['10.1.2.3', '::1', '169.254.169.254'])('%s is not resolved', async (host) => {
    const { resolve, asked } = resolverOf()
    await checkedAddresses(host, 'private', resolve)
    expect(asked).toEqual([])
  })

  test('are resolved once: a connection receives the checked addresses', async () => {
    const { resolve, asked } = resolverOf(addresses('93.184.216.34'), addresses('169.254.169.254'))
    const checked = await checkedAddresses('rebind.example', 'public', resolve)
    const given: unknown[] = []
    const lookup = pinnedLookup(checked.ok ? checked.addresses : [])
    for (const all of [true, false, undefined])
      lookup('rebind.example', { all }, (_error, address) => given.push(address))
    expect(given).toEqual([addresses('93.184.216.34'), '93.184.216.34', '93.184.216.34'])
    expect(asked).toEqual(['rebind.example'])
  })

  test('of a name without any are none', async () => {
    expect(await checkedAddresses('none.example', 'public', async () => [])).toEqual({
      ok: true,
      addresses: [],
    })
  })

  test.each([
    ...['http://169.254.169.254', 'http://0xa9fea9fe', 'http://2852039166', 'http://0251.0376.0251.0376'],
    ...['http://169.254.43518', 'http://[::ffff:169.254.169.254]', 'http://[::ffff:a9fe:a9fe]', 'http://0/'],
    ...[
      'http://169。254。169。254',
      'http://①⑥⑨.254.169.254',
      'http://169.254.169.254./',
      'http://[fe80::1]',
    ],
  ])('%s is a metadata or unspecified address in every spelling of a URL', async (url) => {
    const checked = await checkedAddresses(hostOf(new URL(url)), 'private', async () => [])
    expect(checked).toMatchObject({ ok: false, refusal: { isFinal: true } })
  })
})
