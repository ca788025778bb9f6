import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { startControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { queueLookups, size } from '../../support/proof.ts'

/** Starts of the control plane on a machine that is busy: each serves, or says why it cannot. */
const STARTS = size(4, 200)
/** At the same time, as replicas of one installation. */
const AT_ONCE = 4
vi.setConfig({ testTimeout: size(600_000, 3_600_000) })

let here: DurableInstallation
const hogs: ChildProcess[] = []
beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal' })
})
afterEach(() => {
  for (const hog of hogs.splice(0)) hog.kill('SIGKILL')
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** One in `npm test`, whose other workers keep the cores busy as well. */
const HOGS = size(1, availableParallelism())

function hogCpu(): void {
  for (let at = 0; at < HOGS; at++)
    hogs.push(spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' }))
}

test('every start beside a CPU hog serves, or names its reason', async () => {
  hogCpu()
  const failures: string[] = []
  await queueLookups(Array.from({ length: STARTS }), AT_ONCE, async () => {
    const started = await here.start().catch((error: unknown) => String(error))
    if (typeof started === 'string') failures.push(started)
    else expect(await started.stop()).toBe(0)
  })
  for (const failure of failures) expect(failure).toMatch(REASON)
  // A busy machine is no reason to fail.
  expect(failures).toEqual([])
})

/** The line of the process itself, with a text behind it. */
const REASON = /The control plane (cannot start|did not stop cleanly): \S/

const CANNOT_SERVE: ReadonlyArray<readonly [string, () => Record<string, string>]> = [
  ['no database answers', () => ({ DATABASE_URL: 'postgres://nobody:x@localhost:1/none' })],
  ['the database is another one', () => ({ DATABASE_URL: `${here.databaseUrl}-missing` })],
  ['the password is wrong', () => ({ DATABASE_URL: here.databaseUrl.replace(/:[^:@]+@/, ':wrong@') })],
  [
    'the name of the database server is unknown',
    () => ({ DATABASE_URL: 'postgres://x:x@nobody.invalid/none' }),
  ],
  ['there is no database', () => ({ DATABASE_URL: '' })],
  ['the master key is too short', () => ({ MASTER_KEY: 'abc' })],
  ['the master key is another one', () => ({ MASTER_KEY: 'a'.repeat(64) })],
  ['the port is in use', () => ({ PORT: new URL(here.databaseUrl).port })],
  ['the port is none', () => ({ PORT: '99999999' })],
  ['the address is not of this machine', () => ({ HOST: '203.0.113.9' })],
  ['a file cannot be read', () => ({ OPERATOR_TOKEN_FILE: '/proc/1/mem/none' })],
  ['the TLS certificate is missing', () => ({ TLS_CERT_FILE: '/none.crt', TLS_KEY_FILE: '/none.key' })],
]

/** All at once: one start beside eleven others is on a busy machine. */
describe('a start that cannot serve names its reason', () => {
  const failures = new Map<string, Promise<string>>()
  beforeAll(() => {
    for (const [reason, env] of CANNOT_SERVE) failures.set(reason, failureOf(env()))
  })
  test.each(CANNOT_SERVE)('%s', async (reason) => {
    expect(await failures.get(reason)).toMatch(REASON)
  })
})

function failureOf(env: Record<string, string>): Promise<string> {
  const always = { DATABASE_URL: here.databaseUrl, MASTER_KEY: 'b'.repeat(64), LOG_LEVEL: 'fatal' }
  return startControlPlaneProcess({ ...always, ...env }).then(
    async (started) => `served: ${await started.stop()}`,
    (error: unknown) => String(error),
  )
}
