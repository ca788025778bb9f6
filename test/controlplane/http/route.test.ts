import { expect, test } from 'vitest'
import type { Route, route } from '../../../controlplane/http/route.ts'

type Declaration = Parameters<typeof route>[0]
/** What the compiler says of a declaration: it is the one that judges this test (`npm run check`). */
type Verdict<T> = T extends Declaration ? 'compiles' : 'does not compile'

const handler = async () => ({})
const COMPLETE = { method: 'GET', path: '/api/x', auth: 'settings/get', summary: '', handler } as const

test('a route without auth does not compile, nor one whose auth is nothing that we know', () => {
  const whole: Verdict<typeof COMPLETE> = 'compiles'
  const without: Verdict<Omit<typeof COMPLETE, 'auth'>> = 'does not compile'
  const undecided: Verdict<Omit<typeof COMPLETE, 'auth'> & { readonly auth: undefined }> = 'does not compile'
  const unknown: Verdict<Omit<typeof COMPLETE, 'auth'> & { readonly auth: 'everybody' }> = 'does not compile'
  const served: Omit<Route, 'auth'> extends Route ? 'compiles' : 'does not compile' = 'does not compile'
  expect([whole, without, undecided, unknown, served]).toEqual([
    'compiles',
    ...Array(4).fill('does not compile'),
  ])
})
