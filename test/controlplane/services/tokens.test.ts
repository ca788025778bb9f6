import { expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createTokens } from '../../../controlplane/features/actions/tokens/service.ts'

const untouched = (what: string) =>
  new Proxy(
    {},
    {
      get: (_target, name) => () => {
        throw new Error(`${what} was asked for ${String(name)}`)
      },
    },
  )
/** Neither a key to verify with nor a database can be had. */
const tokens = createTokens({ db: untouched('the database') as Db, keys: untouched('a key') as never })

const b64 = (text: string) => Buffer.from(text).toString('base64url')
const claims = b64('{"iss":"chaperone"}')

test.each([
  ['a word', 'garbage', 'malformed'],
  ['nothing', '', 'malformed'],
  [
    'noise as long as a token',
    `${'Zm9v'.repeat(24)}.${'bm9p'.repeat(100)}.${'c2ln'.repeat(21)}AA`,
    'malformed',
  ],
  ['64 KiB of noise', 'a'.repeat(65_536), 'malformed'],
  ['braces around noise', `${b64('{no json}')}.${b64('{neither}')}.${'A'.repeat(86)}`, 'malformed'],
  ['alg none', `${b64('{"alg":"none"}')}.${claims}.`, 'signature'],
  ['HS256', `${b64('{"alg":"HS256","kid":"k","typ":"JWT"}')}.${claims}.${'A'.repeat(86)}`, 'signature'],
  [
    'claims of somebody else',
    `${b64('{"alg":"EdDSA","kid":"k","typ":"JWT"}')}.${claims}.${'A'.repeat(86)}`,
    'signature',
  ],
])('%s is refused before anybody looks for a key or at a signature', async (_what, token, problem) => {
  expect(await tokens.read(token)).toBe(problem)
})
