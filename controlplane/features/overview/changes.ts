import type { Logger } from 'pino'
import { killsIn } from '../../../core/decision/kill-switch/kills-in.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { GatewayLive } from '../../../core/wire/gateways.ts'
import type { ChangeKind } from '../../../core/wire/overview.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { listGatewaysIn } from '../gateways/rows.ts'
import { readChangeMarks } from './change-mark-store.ts'

export type ChangesDeps = {
  readonly read: ScopedReads
  readonly orgId: string
  readonly log: Logger
  readonly kills: () => readonly KillEntry[]
  readonly liveOf: (gatewayId: string) => GatewayLive | null
}

/** One text per kind of object (version). A different text means that an object of the kind has changed. */
export type Versions = Readonly<Record<ChangeKind, string>>

export type ChangeListener = {
  onChange(kinds: readonly ChangeKind[]): void
  /** Called when the control plane stops. No further change is reported afterwards. */
  onEnd(): void
}

/**
 * Reports the changes of objects in some namespaces, whichever replica made the changes. Polls the database only
 * while there are listeners.
 */
export type Changes = Disposable & {
  versions(namespaces: Namespaces): Promise<Versions>
  /** Adds a listener. The returned function removes it. */
  listen(namespaces: Namespaces, listener: ChangeListener): () => void
}

const POLL_MS = 500

export function createChanges(deps: ChangesDeps): Changes {
  const watches = new Map<string, Watch>()
  return {
    versions: (namespaces) => versionsOf(deps, namespaces),
    listen(namespaces, listener) {
      const key = namespaces === 'all' ? 'all' : JSON.stringify([...namespaces].toSorted())
      const watch = watches.get(key) ?? createWatch(deps, namespaces)
      watches.set(key, watch)
      const stop = watch.listen(listener)
      return () => {
        stop()
        if (watch.isIdle()) watches.delete(key)
      }
    },
    [Symbol.dispose]() {
      for (const watch of watches.values()) watch[Symbol.dispose]()
      watches.clear()
    },
  }
}

/** Polls the versions for one set of namespaces. Listeners with a right in exactly this set share the poll. */
type Watch = Disposable & {
  listen(listener: ChangeListener): () => void
  isIdle(): boolean
}

function createWatch(deps: ChangesDeps, namespaces: Namespaces): Watch {
  const listeners = new Set<ChangeListener>()
  let known: Versions | null = null
  let timer: NodeJS.Timeout | undefined

  const poll = async () => {
    const now = await versionsOf(deps, namespaces)
    const changed = known === null ? [] : changedKinds(known, now)
    known = now
    if (changed.length > 0) for (const { onChange } of listeners) onChange(changed)
  }
  const run = () => {
    poll()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'changes for the dashboard could not be read'))
      .finally(() => {
        if (listeners.size > 0) timer = setTimeout(run, POLL_MS)
        else known = null
      })
  }
  return {
    listen(listener) {
      listeners.add(listener)
      if (listeners.size === 1 && known === null) run()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearTimeout(timer)
        known = null
      }
    },
    isIdle: () => listeners.size === 0,
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const { onEnd } of [...listeners]) onEnd()
      listeners.clear()
    },
  }
}

function changedKinds(before: Versions, after: Versions): ChangeKind[] {
  return (Object.keys(after) as ChangeKind[]).filter((kind) => before[kind] !== after[kind])
}

async function versionsOf(
  { read, orgId, kills, liveOf }: ChangesDeps,
  namespaces: Namespaces,
): Promise<Versions> {
  const query = read(namespaces)
  const [marks, gateways] = await Promise.all([readChangeMarks(query, orgId), listGatewaysIn(query)])
  const live = gateways.map(({ id }) => {
    const state = liveOf(id)
    return state === null
      ? null
      : [
          state.processes,
          state.applied_version,
          state.desired_version,
          state.agents,
          state.versions,
          state.warnings,
        ]
  })
  return { ...marks, kill: JSON.stringify(killsIn(namespaces, kills())), gateways: JSON.stringify(live) }
}
