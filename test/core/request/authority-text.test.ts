import { describe, expect, test } from 'vitest'
import { authorityText, splitAuthority, withoutBrackets } from '../../../core/request/authority-text.ts'

describe('the text of an authority', () => {
  test.each([
    ['a.example', 'a.example', null],
    ['a.example:8443', 'a.example', 8443],
    ['*.a.example:8443', '*.a.example', 8443],
    ['10.0.0.1:53', '10.0.0.1', 53],
    ['[2001:db8::1]', '[2001:db8::1]', null],
    ['[2001:db8::1]:8443', '[2001:db8::1]', 8443],
    ['2001:db8::1', '2001:db8::1', null],
    ['a.example:', 'a.example:', null],
    ['a.example:123456', 'a.example:123456', null],
  ])('%s is the host %s and the port %s', (text, host, port) => {
    expect(splitAuthority(text)).toEqual({ host, port })
  })

  test.each([
    ['a.example', 8443, undefined, 'a.example:8443'],
    ['a.example', 443, 443, 'a.example'],
    ['2001:db8::1', 8443, 443, '[2001:db8::1]:8443'],
    ['2001:db8::1', 443, 443, '[2001:db8::1]'],
    ['[2001:db8::1]', 80, undefined, '[2001:db8::1]:80'],
  ])('host %s and port %s, with the standard port %s, are %s', (host, port, standardPort, text) => {
    expect(authorityText(host, port, standardPort)).toBe(text)
  })

  test.each(['2001:db8::1', 'a.example'])('%s keeps its text without brackets', (host) => {
    expect(withoutBrackets(host)).toBe(host)
    expect(withoutBrackets(`[${host}]`)).toBe(host)
  })
})
