import { expect, test } from 'vitest'
import { calledHost, isPhoneNumber } from '../../../../core/connectors/provider-side/reached-host.ts'

test.each([
  ['sip:agent@pbx.example', 'pbx.example', 5060],
  ['sip:pbx.example', 'pbx.example', 5060],
  ['SIP:+1415@PBX.example:5070', 'pbx.example', 5070],
  ['sips:agent@pbx.example', 'pbx.example', 5061],
  ['sip:agent@[2001:db8::1];transport=tcp;user=phone', '2001:db8::1', 5060],
])('the host of a call to %s is that of the URI', (uri, host, port) => {
  expect(calledHost(uri)).toEqual({ host, port })
})

test.each([
  'sip:agent@pbx.example;maddr=attacker.example',
  'sip:agent@pbx.example?Route=%3Csip:attacker.example%3E',
  'sip:a@b@pbx.example',
  'sip:agent:secret@pbx.example',
  'sip:agent@pbx%2eexample',
  'sip://pbx.example',
  ' sip:pbx.example',
  'https://pbx.example',
  'xmpp:agent@pbx.example',
  'pbx.example',
  '<sip:agent@pbx.example>',
])('%s has no host that all servers read alike', (uri) => {
  expect(calledHost(uri)).toBeNull()
  expect(isPhoneNumber(uri)).toBe(false)
})

test('a phone number has no host', () => {
  expect(['tel:+14155550123', 'TEL:+1-415-555-0123', 'tel:112;phone-context=+1'].map(isPhoneNumber)).toEqual([
    true,
    true,
    false,
  ])
})
