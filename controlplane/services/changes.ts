import type { Logger } from 'pino'
import type { ChangeKind } from '../../core/wire/dashboard.ts'
import type { KillEntry } from '../../core/wire/kill.ts'
import { readChangeMarks } from '../store/change-marks.ts'
import { listGateways } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'
import type { GatewayLive } from '../sync/live.ts'

export type ChangesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly kills: () => readonly KillEntry[]
  readonly liveOf: (gatewayId: string) => GatewayLive | null
}

/** One text per kind; another text means another state. */
export type Versions = Readonly<Record<ChangeKind, string>>

export type ChangeListener = {
  onChange(kinds: readonly ChangeKind[]): void
  /** The control plane stops: nothing more will be told. */
  onEnd(): void
}

/** Tells what changed, on this replica or another. Nothing runs while nobody listens. */
export type Changes = Disposable & {
  versions(): Promise<Versions>
  /** Call the result to listen no longer. */
  listen(listener: ChangeListener): () => void
}

const LOOK_MS = 500

export function createChanges(deps: ChangesDeps): Changes {
  const listeners = new Set<ChangeListener>()
  let known: Versions | null = null
  let timer: NodeJS.Timeout | undefined

  const look = async () => {
    const now = await versionsOf(deps)
    const changed = known === null ? [] : changedKinds(known, now)
    known = now
    if (changed.length > 0) for (const { onChange } of listeners) onChange(changed)
  }
  const turn = () => {
    look()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'changes for the dashboard could not be read'))
      .finally(() => {
        if (listeners.size > 0) timer = setTimeout(turn, LOOK_MS)
        else known = null
      })
  }
  return {
    versions: () => versionsOf(deps),
    listen(listener) {
      listeners.add(listener)
      if (listeners.size === 1 && known === null) turn()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearTimeout(timer)
        known = null
      }
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const { onEnd } of [...listeners]) onEnd()
      listeners.clear()
    },
  }
}

export function changedKinds(before: Versions, after: Versions): ChangeKind[] {
  return (Object.keys(after) as ChangeKind[]).filter((kind) => before[kind] !== after[kind])
}

async function versionsOf({ db, orgId, kills, liveOf }: ChangesDeps): Promise<Versions> {
  const [marks, gateways] = await Promise.all([readChangeMarks(db, orgId), listGateways(db)])
  const live = gateways.map(({ id }) => {
    const state = liveOf(id)
    return state === null
      ? null
      : [state.processes, state.applied_version, state.desired_version, state.agents, state.warnings]
  })
  return { ...marks, kill: JSON.stringify(kills()), gateways: JSON.stringify(live) }
}
