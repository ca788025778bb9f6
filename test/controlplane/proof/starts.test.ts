import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { queueLookups, size } from '../../support/proof.ts'

/** Starts of the control plane on a machine that is busy: each serves, or says why it cannot. */
const STARTS = size(20, 200)
/**
 * Number of concurrent starts, as replicas of one installation. More starts, together with those that cannot serve,
 * would use up the connections of the database.
 */
const AT_ONCE = 5
vi.setConfig({ testTimeout: size(600_000, 3_600_000) })

let here: DurableInstallation
const hogs: ChildProcess[] = []
/** Outputs of the starts that cannot serve, by reason. */
const failures = new Map<string, Promise<string>>()
beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal', DATABASE_POOL_SIZE: '4' })
  hogCpu()
  // The first start stores the master key of the installation.
  await startAndStop()
  // Starts that cannot serve run at the same time as the others, because some of them mostly wait.
  for (const [reason, env] of CANNOT_SERVE) failures.set(reason, failureOf(env()))
})
afterAll(async () => {
  for (const hog of hogs) hog.kill('SIGKILL')
  await here?.[Symbol.asyncDispose]()
})

/** One in `npm test`, whose other workers keep the cores busy as well. */
const HOGS = size(1, availableParallelism())

function hogCpu(): void {
  for (let at = 0; at < HOGS; at++)
    hogs.push(spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' }))
}

async function startAndStop(): Promise<void> {
  const started = await here.start()
  expect(await started.stop()).toBe(0)
}

test('every start beside a CPU hog serves, or names its reason', async () => {
  const failed: string[] = []
  await queueLookups(Array.from({ length: STARTS - 1 }), AT_ONCE, async () => {
    await startAndStop().catch((error: unknown) => failed.push(String(error)))
  })
  for (const failure of failed) expect(failure).toMatch(REASON)
  // A busy machine is no reason to fail.
  expect(failed).toEqual([])
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

describe('a start that cannot serve names its reason', () => {
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
