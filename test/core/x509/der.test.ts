import { expect, it } from 'vitest'
import { bitString, oid, pem, time, unsigned } from '../../../core/x509/der.ts'
import fc from '../../support/fast-check.ts'

const text = (der: Uint8Array) => Buffer.from(der.subarray(2)).toString('latin1')

it('writes the same second as the calendar of the platform, in the short form until 2049', () => {
  const range = { min: Date.UTC(1970, 0, 1), max: Date.UTC(2400, 0, 1) }
  fc.assert(
    fc.property(fc.integer(range), (epochMs) => {
      const stamp = `${new Date(epochMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
      expect(text(time(epochMs))).toBe(Number(stamp.slice(0, 4)) < 2050 ? stamp.slice(2) : stamp)
    }),
  )
})

it.each([
  [Date.UTC(2028, 1, 29, 23, 59, 59), '280229235959Z'],
  [Date.UTC(2100, 1, 28), '21000228000000Z'],
  [Date.UTC(2100, 2, 1), '21000301000000Z'],
])('handles leap years: %d', (epochMs, stamp) => expect(text(time(epochMs))).toBe(stamp))

it('keeps an integer positive and without padding', () => {
  expect([...unsigned(Uint8Array.of(0, 0, 0x80))]).toEqual([2, 2, 0, 0x80])
  expect([...unsigned(Uint8Array.of(0))]).toEqual([2, 1, 0])
})

it('writes object identifiers and bit strings as the standard does', () => {
  expect(Buffer.from(oid('1.2.840.10045.4.3.2')).toString('hex')).toBe('06082a8648ce3d040302')
  expect([...bitString(Uint8Array.of(6), 1)]).toEqual([3, 2, 1, 6])
})

it('writes PEM that the platform reads back', () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, at) => at % 256)
  const body = pem('CERTIFICATE', bytes).replace(/-----[A-Z ]+-----/g, '')
  expect(Buffer.from(body, 'base64')).toEqual(Buffer.from(bytes))
})
