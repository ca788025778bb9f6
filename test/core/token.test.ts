import { expect, test } from 'vitest'
import { claimProblem, readToken, type TokenClaims, tokenHeader } from '../../core/token.ts'

const CLAIMS: TokenClaims = {
  iss: 'chaperone',
  aud: 'chaperone-gateway',
  sub: 'agent_1',
  org: 'org_1',
  act: 'act_1',
  ash: 'a'.repeat(64),
  jti: 'n',
  iat: 1,
  exp: 301,
}
const SIGNATURE = 'A'.repeat(86)
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (header: unknown, claims: unknown, signature = SIGNATURE) =>
  `${part(header)}.${part(claims)}.${signature}`

test('a token of our own is parsed without trust in its claims', () => {
  const text = token(tokenHeader('k1'), CLAIMS)
  expect(readToken(text)).toEqual({
    kid: 'k1',
    claims: CLAIMS,
    signed: text.slice(0, text.lastIndexOf('.')),
    signature: SIGNATURE,
  })
})

test.each([
  ['nothing', ''],
  ['a word', 'garbage'],
  ['two parts', 'e30.e30'],
  ['four parts', 'e30.e30.e30.e30'],
  ['parts that are no JSON', 'aaaa.bbbb.cccc'],
  ['arrays', token([], [])],
  ['null', token(null, null)],
  ['a length that no base64 has', 'aaaaa.e30.'],
  ['blanks', ` ${token(tokenHeader('k'), CLAIMS)}`],
  ['padding', token(tokenHeader('k'), CLAIMS, `${'A'.repeat(84)}==`)],
  ['more than any token of ours', token({ ...tokenHeader('k'), x: 'y'.repeat(5_000) }, CLAIMS)],
])('%s is malformed', (_name, text) => {
  expect(readToken(text)).toBe('malformed')
})

test.each([
  ['alg none', token({ alg: 'none', kid: 'k', typ: 'JWT' }, CLAIMS, '')],
  ['alg HS256', token({ alg: 'HS256', kid: 'k', typ: 'JWT' }, CLAIMS)],
  ['an embedded key', token({ ...tokenHeader('k'), jwk: { kty: 'OKP' } }, CLAIMS)],
  ['an address of keys', token({ ...tokenHeader('k'), jku: 'https://evil.example' }, CLAIMS)],
  ['critical extensions', token({ ...tokenHeader('k'), crit: ['b64'], b64: false }, CLAIMS)],
  ['no key id', token({ alg: 'EdDSA', typ: 'JWT' }, CLAIMS)],
  ['a signature that is too short', token(tokenHeader('k'), CLAIMS, 'AAAA')],
  ['another issuer', token(tokenHeader('k'), { ...CLAIMS, iss: 'somebody' })],
  ['another audience', token(tokenHeader('k'), { ...CLAIMS, aud: 'else' })],
  ['claims of which one is missing', token(tokenHeader('k'), { ...CLAIMS, jti: undefined })],
  ['claims of which one is too many', token(tokenHeader('k'), { ...CLAIMS, admin: true })],
])('%s cannot be a token of the control plane', (_name, text) => {
  expect(readToken(text)).toBe('signature')
})

test('a good token counts for its own action, agent, organisation and spec alone', () => {
  const wanted = { org: 'org_1', act: 'act_1', sub: 'agent_1', ash: 'a'.repeat(64) }
  expect(claimProblem(CLAIMS, wanted)).toBeNull()
  expect(claimProblem(CLAIMS, { org: 'org_1', act: 'act_1' })).toBeNull()
  expect(claimProblem(CLAIMS, { ...wanted, act: 'act_2' })).toBe('mismatch')
  expect(claimProblem(CLAIMS, { ...wanted, sub: 'agent_2' })).toBe('mismatch')
  expect(claimProblem(CLAIMS, { ...wanted, ash: 'b'.repeat(64) })).toBe('mismatch')
  expect(claimProblem(CLAIMS, { ...wanted, org: 'org_2' })).toBe('signature')
})
