import { expect, test } from 'vitest'
import type { Route, route } from '../../../controlplane/http/route.ts'

type Declaration = Parameters<typeof route>[0]
/** The result of type checking a declaration; this test fails in the type checker (`npm run check`). */
type Verdict<T> = T extends Declaration ? 'compiles' : 'does not compile'

const handler = async () => ({})
const COMPLETE = { method: 'GET', path: '/api/x', auth: 'settings/get', summary: '', handler } as const

test('a route without auth or with an unknown auth does not compile', () => {
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
