import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import type { ManifestProblem } from '../../core/wire/operator.ts'
import type { FolderConfig } from '../config.ts'
import { createDesiredClient } from '../control/control-plane-client.ts'
import { createControlPlaneHttp } from '../control/control-plane-http.ts'
import { createReconciler, type PassResult } from './folder-reconciler.ts'
import { readFolder, watchFolder } from './manifest-folder.ts'
import { EMPTY_SET, type ManifestSet, nextSet } from './manifest-set.ts'

const BACKOFF_MIN_MS = 200
const BACKOFF_MAX_MS = 10_000
/** Repeats the comparison with the control plane, so that a lost row comes back without an edit. */
const RESYNC_MS = 60_000

export type FolderOperator = Disposable & {
  /** Resolves after the first pass that reached the control plane. */
  readonly firstPass: Promise<PassResult>
}

/** Keeps the control plane at what the manifests folder says, one pass at a time, until it is disposed of. */
export function createFolderOperator({ config, log }: { config: FolderConfig; log: Logger }): FolderOperator {
  const http = createControlPlaneHttp(config)
  const reconciler = createReconciler({ client: createDesiredClient(http), log })
  const first = Promise.withResolvers<PassResult>()
  let set: ManifestSet = EMPTY_SET
  let reported = new Set<string>()
  let backoffMs = BACKOFF_MIN_MS
  let isRunning = false
  let isStopped = false
  let isDue = false
  let timer: NodeJS.Timeout | undefined

  async function pass(): Promise<void> {
    set = nextSet(set, await readFolder(config.manifestsDir))
    // Said before anything is asked of the control plane, which may be away; what it refused stays said.
    reported = new Set([...reported, ...reportNew(log, reported, set.problems)])
    const result = await reconciler.apply(set)
    reported = reportNew(log, reported, result.problems)
    first.resolve(result)
  }

  async function run(): Promise<void> {
    clearTimeout(timer)
    isDue = true
    if (isRunning) return
    isRunning = true
    while (isDue && !isStopped) {
      isDue = false
      const delayMs = await attempt()
      if (!isStopped) timer = setTimeout(run, delayMs)
    }
    isRunning = false
  }

  /** One pass; answers after how many milliseconds the next one is due without an edit. */
  async function attempt(): Promise<number> {
    clearTimeout(timer)
    try {
      await pass()
      backoffMs = BACKOFF_MIN_MS
      return RESYNC_MS
    } catch (error) {
      // An outage is told in one line; only what nobody expected comes with its stack.
      const cause = error instanceof ChaperoneError ? {} : { err: error }
      log.warn({ ...cause, retry_ms: backoffMs }, failureText(error))
      const delayMs = backoffMs
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
      return delayMs
    }
  }

  const folder = watchFolder(config.manifestsDir, run)
  void run()
  return {
    firstPass: first.promise,
    [Symbol.dispose]() {
      isStopped = true
      clearTimeout(timer)
      folder[Symbol.dispose]()
      http[Symbol.dispose]()
    },
  }
}

/** Logs each problem once, when it appears; answers the set to compare the next one with. */
function reportNew(
  log: Logger,
  before: ReadonlySet<string>,
  problems: readonly ManifestProblem[],
): Set<string> {
  const now = new Set<string>()
  for (const { file, line, message } of problems) {
    const text = `${file}:${line ?? '?'} ${message}`
    now.add(text)
    if (!before.has(text)) log.error({ file, line }, `manifest problem: ${text}`)
  }
  return now
}

function failureText(error: unknown): string {
  return error instanceof ChaperoneError
    ? `manifests not applied: ${error.message}`
    : 'manifests not applied: the folder cannot be read'
}
