import { join } from 'node:path'
import { failureReason } from '../../../core/failure-reason.ts'
import { GATEWAY_FLAGS } from '../../../core/gateway-flags.ts'
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts'
import {
  describeExit,
  type ProgramSpec,
  type RunningProgram,
  StartFailure,
  startProgram,
} from '../programs/child-process.ts'
import { type BundledProgram, programBundle } from '../programs/program-bundle.ts'
import {
  type Addresses,
  controlPlaneEnvironment,
  gatewayEnvironment,
  operatorEnvironment,
} from '../programs/program-environment.ts'
import { programFile, shippedFile } from '../programs/program-files.ts'
import { type Restartable, type Supervised, supervise } from '../programs/supervisor.ts'
import type { DataFolder } from '../state/data-folder.ts'
import type { InstallationSecrets } from './installation-secrets.ts'

export type ProcessesOptions = {
  readonly folder: DataFolder
  readonly addresses: Addresses
  readonly keys: InstallationSecrets
  readonly env: NodeJS.ProcessEnv
  readonly warn: (line: string) => void
}

export type Processes = {
  /**
   * Stops all processes. The gateway and the manifests watcher stop first, while the control plane still accepts the
   * last records and pushes. The database stops last.
   */
  stop(): Promise<void>
}

type Kept = Pick<Supervised<Restartable>, 'stop'>
type Running = { [K in 'gateway' | 'operator' | 'controlPlane' | 'postgres']?: Kept }

/** Grace periods in ms before SIGKILL. The sum stays below 5 s, the longest time that a stop may take. */
const GRACE = { edge: 1_800, controlPlane: 1_200, postgres: 1_000 } as const

/**
 * Starts the database, the control plane, the gateway and the manifests watcher, concurrently where possible. When
 * one start fails, stops all processes and rejects.
 */
export async function startProcesses(options: ProcessesOptions, signal: AbortSignal): Promise<Processes> {
  const failed = new AbortController()
  const any = AbortSignal.any([signal, failed.signal])
  const running: Running = {}
  const starts = [
    startDataSide(options, running, any),
    ...(options.addresses.withGateway ? [startKept(options, 'gateway', running, any)] : []),
  ]
  for (const start of starts) start.catch(() => failed.abort())
  const results = await Promise.allSettled(starts)
  const broken = results.find(
    (result) => result.status === 'rejected' && !isConsequence(result.reason, signal, results),
  )
  if (broken?.status === 'rejected') {
    await stopAll(running)
    throw broken.reason
  }
  return { stop: () => stopAll(running) }
}

/**
 * Reports whether the error of a start is only a consequence of another failed start, which aborted this start. Such
 * an error is not reported.
 */
function isConsequence(
  reason: unknown,
  signal: AbortSignal,
  results: readonly PromiseSettledResult<unknown>[],
): boolean {
  const failures = results.filter((result) => result.status === 'rejected').length
  return failures > 1 && !signal.aborted && reason instanceof StartFailure && reason.reason === 'aborted'
}

async function startDataSide(
  options: ProcessesOptions,
  running: Running,
  signal: AbortSignal,
): Promise<void> {
  const given = options.env['DATABASE_URL']
  const database = given
    ? { DATABASE_URL: given }
    : { DATABASE_URL: await startPostgres(options, running), ONLY_REPLICA: 'on' }
  signal.throwIfAborted()
  const withDatabase = { ...options, env: { ...options.env, ...database } }
  await Promise.all([
    startKept(withDatabase, 'controlPlane', running, signal),
    startKept(options, 'operator', running, signal),
  ])
}

async function startPostgres({ folder, keys, warn }: ProcessesOptions, running: Running): Promise<string> {
  const start = (port: number) =>
    startEmbeddedPostgres({
      dir: folder.postgres,
      password: keys.postgresPassword,
      logFile: join(folder.logs, 'postgres.log'),
      port,
    })
  const first = await start(0)
  running.postgres = supervise({
    first,
    // A restarted database must keep its port, because the DATABASE_URL of the control plane contains the port.
    start: () => start(first.port),
    ...announcements('database', join(folder.logs, 'postgres.log'), warn),
  })
  return first.url
}

async function startKept(
  options: ProcessesOptions,
  name: 'gateway' | 'operator' | 'controlPlane',
  running: Running,
  signal: AbortSignal,
): Promise<RunningProgram['ready']> {
  const spec = await specOf(name, options)
  signal.throwIfAborted()
  const first = await startProgram(spec, signal)
  running[name] = supervise({
    first,
    // Locates the program before each start, because a bundle is rebuilt when a source has changed.
    start: async (stopping) => startProgram(await specOf(name, options), stopping),
    ...announcements(spec.title, spec.logFile, options.warn),
  })
  return first.ready
}

async function specOf(
  name: 'gateway' | 'operator' | 'controlPlane',
  options: ProcessesOptions,
): Promise<ProgramSpec> {
  const { folder, addresses, env } = options
  if (name === 'gateway') {
    const gatewayEnv = gatewayEnvironment(folder, addresses, env)
    return {
      title: 'gateway',
      file: await fileOf('sidecar', options),
      env: gatewayEnv,
      nodeFlags: GATEWAY_FLAGS,
      logFile: join(folder.logs, 'gateway.log'),
    }
  }
  if (name === 'operator') {
    const operatorEnv = operatorEnvironment(folder, addresses, env)
    const logFile = join(folder.logs, 'manifests.log')
    const file = await fileOf('operator', options)
    return { title: 'manifests watcher', file, env: operatorEnv, logFile }
  }
  const controlEnv = controlPlaneEnvironment(folder, addresses, env)
  const logFile = join(folder.logs, 'control-plane.log')
  return { title: 'control plane', file: await fileOf('controlplane', options), env: controlEnv, logFile }
}

async function fileOf(program: BundledProgram, { env, warn }: ProcessesOptions): Promise<string> {
  const shipped = shippedFile(program)
  if (shipped !== null) return shipped
  // `node --watch` restarts when a loaded file changes, so watched processes must run from the sources.
  const isWatched = env['WATCH_REPORT_DEPENDENCIES'] !== undefined && program !== 'sidecar'
  return (isWatched ? null : await programBundle(program, warn)) ?? programFile(program)
}

function announcements(title: string, logFile: string, warn: (line: string) => void) {
  const seconds = (ms: number) => `${ms / 1000} s`
  return {
    onExit: (exit: Parameters<typeof describeExit>[0], retryMs: number) =>
      warn(
        `The ${title} ended ${describeExit(exit)}. It will be restarted in ${seconds(retryMs)}. Log: ${logFile}`,
      ),
    onFailure: (error: unknown, retryMs: number) =>
      warn(`${failureReason(error)}\nNext attempt in ${seconds(retryMs)}.`),
    onRestarted: () => warn(`The ${title} runs again.`),
  }
}

async function stopAll(running: Running): Promise<void> {
  await Promise.all([running.gateway?.stop(GRACE.edge), running.operator?.stop(GRACE.edge)])
  await running.controlPlane?.stop(GRACE.controlPlane)
  await running.postgres?.stop(GRACE.postgres)
}
