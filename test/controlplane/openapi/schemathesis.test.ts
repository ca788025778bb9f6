import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { IS_FULL } from '../../support/proof.ts'
import { fuzz, installSchemathesis, type Schemathesis } from '../../support/schemathesis.ts'

const SEED = 20_261_121
const PASSWORD = 'correct horse battery'
/** Has no end. */
const ENDLESS = '/api/gateway/stream'

let schemathesis: Schemathesis
let here: DurableInstallation
let plane: ControlPlaneProcess
let limits: NodeJS.Timeout
const headers: Record<string, Record<string, string>> = { nobody: {} }

/** Seconds of fuzzing. */
const CALLERS = [
  ['nobody', 108],
  ['agent key', 108],
  ['viewer', 90],
  ['member', 90],
  ['admin', 108],
  ['owner', 144],
] as const

async function signIn(role: string): Promise<void> {
  const person = { email: `${role}@example.com`, password: PASSWORD }
  await here.send(plane.url, 'POST', '/api/auth/register', { body: { ...person, name: role } })
  const { users } = await here.admin(plane, 'GET', '/api/dashboard/users')
  const user = (users as { id: string; email: string }[]).find(({ email }) => email === person.email)
  // The first is the owner already, and nobody else can be made one by this token.
  const change = { action: 'change_role', user_id: user?.id, role }
  if (role !== 'owner') await here.admin(plane, 'POST', '/api/dashboard/users', change)
  const login = await here.send(plane.url, 'POST', '/api/auth/login', { body: person })
  const cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
  const me = await here.send(plane.url, 'GET', '/api/auth/me', { key: cookie })
  expect(me.body).toMatchObject({ user: { role } })
  headers[role] = { cookie }
}

/**
 * Only in the nightly run: a caller takes 20 s of CPU time, half of them for the start of Python. In `npm test`,
 * `hostile.test.ts` asserts the same of every body and parameter with its own requests.
 */
describe.runIf(IS_FULL)('whatever Schemathesis makes of the OpenAPI document', () => {
  beforeAll(async () => {
    schemathesis = await installSchemathesis()
    if ('missing' in schemathesis) {
      if (process.env['CI']) throw new Error(schemathesis.missing)
      return
    }
    here = await startDurableInstallation({ LOG_LEVEL: 'error' })
    plane = await here.start()
    headers['agent key'] = { authorization: `Bearer ${(await here.agent(plane)).key}` }
    for (const role of ['owner', 'admin', 'member', 'viewer']) await signIn(role)
    // As if minutes passed all the time: else an agent would hear nothing but its limit.
    limits = setInterval(() => void here.sql('delete from agent_windows').catch(() => undefined), 100)
  }, 300_000)
  afterAll(async () => {
    clearInterval(limits)
    await here?.[Symbol.asyncDispose]()
  })

  // Whoever may stop everything comes last.
  test.for(CALLERS)(
    'as %s meets no server error and no status that is not documented',
    { timeout: 240_000 },
    async ([who, seconds], { skip }) => {
      if ('missing' in schemathesis) skip(schemathesis.missing)
      else await judge(schemathesis.program, { who, seconds })
    },
  )
})

type Given = { readonly who: string; readonly seconds: number }

async function judge(program: string, given: Given): Promise<void> {
  // A busy machine gets through less of it in the time: then it has more.
  for (const times of [1, 2, 6]) {
    const { cases, tested } = await fuzzFor(program, { ...given, seconds: given.seconds * times })
    if (cases > LEAST.cases && tested > LEAST.tested) return
  }
  throw new Error(`Schemathesis came to less than ${LEAST.cases} cases`)
}

const LEAST = { cases: 40, tested: 8 }

async function fuzzFor(program: string, { who, seconds }: Given) {
  const report = await fuzz(program, {
    url: plane.url,
    headers: headers[who] ?? {},
    // A session that ended has nothing more to say.
    excludedPaths: [ENDLESS, '/api/auth/logout'],
    maxSeconds: seconds,
    seed: SEED,
  })
  expect(report.failures, report.output.slice(-20_000)).toEqual([])
  expect(plane.log()).not.toContain('request failed')
  return report
}
