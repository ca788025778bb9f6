import { describe, expect, test } from 'vitest'
import { isPermitted, permittedNames } from '../../../core/x509/name-constraints.ts'

describe('permitted names', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['are sorted', ['b.example', 'a.example'], ['a.example', 'b.example']],
    [
      'leave out what another one permits',
      ['example.com', 'api.example.com', 'x.y.example.com'],
      ['example.com'],
    ],
    [
      'do not take a suffix for a parent',
      ['example.com', 'notexample.com'],
      ['example.com', 'notexample.com'],
    ],
    ['hold each once', ['a.example', 'a.example'], ['a.example']],
    [
      'hold addresses in one notation',
      ['192.0.2.1', '2001:db8::1', '2001:DB8:0::1'],
      ['192.0.2.1', '2001:db8:0:0:0:0:0:1'],
    ],
    ['hold labels of one word', ['localhost', 'registry'], ['localhost', 'registry']],
    ['hold IDN as its A-label', ['xn--bcher-kva.example'], ['xn--bcher-kva.example']],
    ['hold no U-label', ['bücher.example'], []],
    ['hold no underscore', ['_dmarc.example.com', 'a_b.example'], []],
    ['hold no label that begins or ends with a hyphen', ['-a.example', 'a-.example'], []],
    ['hold no empty label', ['a..example', '.example', 'example.'], []],
    ['hold no wildcard', ['*.example', '*'], []],
    [
      'hold none of the names that stand for no name',
      ['none.invalid', '255.255.255.255', 'a.example'],
      ['a.example'],
    ],
    ['hold names above and below these', ['invalid', 'x.none.invalid'], ['invalid']],
    ['hold nothing empty', ['', ' '], []],
    ['hold no upper case', ['API.example'], []],
    ['hold no name that reads as an address', ['1.2.3', '1.2.3.4.5', '010.0.0.1', '256.1.1.1', '1'], []],
    [
      'hold no label over 63 and no name over 253 characters',
      [`${'a'.repeat(64)}.example`, `${'a.'.repeat(127)}example`],
      [],
    ],
    ['hold no zone, port, prefix or brackets', ['fe80::1%eth0', 'a.example:443', '10.0.0.0/8', '[::1]'], []],
    ['hold no control characters', ['a\0.example', 'a\n.example', 'a b.example'], []],
  ])('%s', (_, hosts, names) => {
    expect(permittedNames(hosts)).toEqual(names)
  })

  test('hold 500 usual hosts, and of very many as many as every client reads', () => {
    const hosts = (count: number) =>
      Array.from({ length: count }, (_, at) => `service-${at}.team-${at % 7}.example.com`)
    expect(permittedNames(hosts(500))).toHaveLength(500)
    const many = permittedNames(hosts(5_000))
    expect(many.length).toBeGreaterThan(500)
    expect(many.join('').length).toBeLessThan(24 * 1024)
  })
})

describe('a host', () => {
  const names = permittedNames(['api.example.com', 'wild.example', '192.0.2.1', '2001:db8::1'])
  test.each([
    'api.example.com',
    'API.Example.COM',
    'below.api.example.com',
    'wild.example',
    'a.b.wild.example',
    '192.0.2.1',
    '2001:db8::1',
    '2001:DB8:0:0::1',
  ])('%s is permitted', (host) => expect(isPermitted(names, host)).toBe(true))

  test.each([
    'example.com',
    'xapi.example.com',
    'api.example.com.evil.test',
    'api.example.co',
    'api-example.com',
    'com',
    '',
    'example',
    'notwild.example',
    '192.0.2.2',
    '192.0.2.10',
    '1.192.0.2.1',
    '2001:db8::2',
    '::ffff:192.0.2.1',
    'none.invalid',
    '255.255.255.255',
  ])('%s is not permitted', (host) => expect(isPermitted(names, host)).toBe(false))
})
