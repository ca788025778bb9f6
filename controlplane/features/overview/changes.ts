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

const POLL_MS = 500

/**
 * Reports the changes of objects in some namespaces, whichever replica made the changes. Polls the database only
 * while there are listeners.
 */
export class Changes implements Disposable {
  readonly #deps: ChangesDeps
  readonly #watches = new Map<string, Watch>()

  constructor(deps: ChangesDeps) {
    this.#deps = deps
  }

  versions(namespaces: Namespaces): Promise<Versions> {
    return versionsOf(this.#deps, namespaces)
  }

  /** Adds a listener. The returned function removes it. */
  listen(namespaces: Namespaces, listener: ChangeListener): () => void {
    const key = namespaces === 'all' ? 'all' : JSON.stringify([...namespaces].toSorted())
    const watch = this.#watches.get(key) ?? new Watch(this.#deps, namespaces)
    this.#watches.set(key, watch)
    watch.add(listener)
    return () => {
      watch.remove(listener)
      if (watch.isIdle) this.#watches.delete(key)
    }
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches.values()) watch[Symbol.dispose]()
    this.#watches.clear()
  }
}

/** Polls the versions for one set of namespaces. Listeners with a right in exactly this set share the poll. */
class Watch implements Disposable {
  readonly #deps: ChangesDeps
  readonly #namespaces: Namespaces
  readonly #listeners = new Set<ChangeListener>()
  /** The versions of the last poll; null before the first poll and without listeners. */
  #known: Versions | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ChangesDeps, namespaces: Namespaces) {
    this.#deps = deps
    this.#namespaces = namespaces
  }

  get isIdle(): boolean {
    return this.#listeners.size === 0
  }

  add(listener: ChangeListener): void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1 && this.#known === null) this.#run()
  }

  remove(listener: ChangeListener): void {
    this.#listeners.delete(listener)
    if (this.isIdle) this.#stop()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    for (const { onEnd } of [...this.#listeners]) onEnd()
    this.#listeners.clear()
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#known = null
  }

  #run(): void {
    this.#poll()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'could not read what changed for open dashboards, trying again'),
      )
      .finally(() => {
        if (this.isIdle) this.#known = null
        else this.#timer = setTimeout(() => this.#run(), POLL_MS)
      })
  }

  async #poll(): Promise<void> {
    const now = await versionsOf(this.#deps, this.#namespaces)
    const changed = this.#known === null ? [] : changedKinds(this.#known, now)
    this.#known = now
    if (changed.length > 0) for (const { onChange } of this.#listeners) onChange(changed)
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
