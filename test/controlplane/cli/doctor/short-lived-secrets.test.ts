import { expect, test } from 'vitest'
import {
  shortLivedSecretChecks,
  shortLivedSecretLines,
} from '../../../../controlplane/cli/doctor/short-lived-secrets.ts'

const NOW = Date.parse('2026-11-30T12:00:00Z')
const found = (issued_at: string | null, expires_at: string | null) =>
  shortLivedSecretChecks(
    [{ connector: 'default/codehost', minted: { issued_at, expires_at, error: null } }],
    NOW,
  ).map(({ found: text }) => text)

test.each([
  ['2026-11-30T11:48:00Z', '2026-11-30T12:48:00Z', 'is 12 min old and expires in 48 min'],
  ['2026-11-30T11:59:01Z', '2026-11-30T12:01:30Z', 'is 59 s old and expires in 90 s'],
  ['2026-11-30T09:00:00Z', '2026-11-30T11:59:57Z', 'is 3 h old and expired 3 s ago'],
  ['2026-11-27T12:00:00Z', null, 'is 3 d old and stays valid until its source changes'],
])('a secret of %s until %s: %s', (issuedAt, expiresAt, text) => {
  expect(found(issuedAt, expiresAt)).toEqual([`has a secret that ${text}`])
})

test('a Connector without such a secret, or whose source has given none yet, has no line', () => {
  expect(found(null, null)).toEqual([])
  expect(shortLivedSecretChecks([{ connector: 'a', minted: null }], NOW)).toEqual([])
  expect(shortLivedSecretChecks([{ connector: 'a', minted: undefined }], NOW)).toEqual([])
})

test('the status has age, expiry and last error, also of a source that has given no secret yet', () => {
  const lines = (issued_at: string | null, expires_at: string | null, error: string | null) =>
    shortLivedSecretLines([{ connector: 'default/api', minted: { issued_at, expires_at, error } }], NOW)
  expect(lines('2026-11-30T11:48:00Z', '2026-11-30T12:48:00Z', null)).toEqual([
    'default/api has a secret that is 12 min old and expires in 48 min',
  ])
  expect(lines('2026-11-30T11:48:00Z', '2026-11-30T12:48:00Z', 'The source is down.')).toEqual([
    'default/api has a secret that is 12 min old and expires in 48 min; last error: The source is down.',
  ])
  expect(lines(null, null, 'The source is down.')).toEqual([
    'default/api has no secret yet; last error: The source is down.',
  ])
  expect(shortLivedSecretLines([{ connector: 'a', minted: null }], NOW)).toEqual([])
})
