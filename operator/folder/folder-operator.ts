import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import type { FolderConfig } from '../config.ts'
import { createControlPlaneClient } from '../control/control-plane-client.ts'
import { createControlPlaneHttp } from '../control/control-plane-http.ts'
import { pushSet, type SetResult } from '../reconcile/push-set.ts'
import { createPushedObjects } from '../reconcile/pushed-objects.ts'
import { createReconciler } from '../reconcile/reconciler.ts'
import { type OpenedFolder, openFolder } from './file-exposure.ts'
import { createFolderReport, type FolderResult } from './folder-report.ts'
import { readFolder, watchFolder } from './manifest-folder.ts'
import { EMPTY_SET, type FolderItem, folderItems, type ManifestSet, nextSet } from './manifest-set.ts'

const BACK_OFF = { minMs: 200, maxMs: 10_000 }
/**
 * Milliseconds between two comparisons with the control plane. A comparison pushes objects again that the
 * control plane lost.
 */
const RESYNC_MS = 60_000
/** Work queue key of the whole folder, because its objects come into force together. */
const FOLDER_KEY = 'folder'

export type FolderOperator = AsyncDisposable & {
  /** Resolves after the first push that reached the control plane. */
  readonly firstResult: Promise<FolderResult>
}

/** The content of the folder at one moment. */
type Observed = { readonly set: ManifestSet; readonly items: readonly FolderItem[] }

/** Creates an operator that applies the manifest folder to the control plane until the operator is disposed of. */
export function createFolderOperator({ config, log }: { config: FolderConfig; log: Logger }): FolderOperator {
  const http = createControlPlaneHttp(config)
  const client = createControlPlaneClient(http)
  const pushed = createPushedObjects()
  const first = Promise.withResolvers<FolderResult>()
  const report = createFolderReport(log)
  const stopped = new AbortController()
  const { signal } = stopped
  let set: ManifestSet = EMPTY_SET
  let opened: OpenedFolder | null = null

  const reconciler = createReconciler<Observed, SetResult>({
    async observe() {
      opened ??= await openFolder(config.manifestsDir)
      set = nextSet(set, await readFolder(config.manifestsDir, opened))
      // Problems of files are logged before the push, because the control plane may be unreachable.
      report.fileProblems(set.problems)
      return { set, items: folderItems(set) }
    },
    push({ set: { problems }, items }) {
      const bodies = new Map(items.map(({ object, body }) => [object.key, body]))
      return pushSet({ client, pushed, signal }, { bodies, problems })
    },
    async report({ set: { problems }, items }, result) {
      first.resolve(report.result(items, problems, result))
    },
    resyncMs: RESYNC_MS,
    signal,
    queue: { log, ...BACK_OFF, failureMessage },
  })
  const changed = () => reconciler.add(FOLDER_KEY)
  const watcher = watchFolder(config.manifestsDir, changed)
  changed()
  return {
    firstResult: first.promise,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      watcher[Symbol.dispose]()
      await reconciler.stop()
      await opened?.[Symbol.asyncDispose]()
      http[Symbol.dispose]()
    },
  }
}

function failureMessage(error: unknown): string {
  return error instanceof ChaperoneError
    ? `manifests not applied: ${error.message}`
    : 'manifests not applied: the folder cannot be read; the manifests that were applied last stay in force, and the folder is read again'
}
