import { randomUUID } from 'node:crypto'
import {
  type KillSubject,
  matchKill,
  unionEffective,
} from '../../../core/decision/kill-switch/kill-switch.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import type {
  KillAnnouncement,
  KillEntry,
  KillStateMessage,
  StateOrder,
} from '../../../core/wire/gateway/kill.ts'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { killNames } from '../../pipeline/kill-names.ts'
import type { KillPort } from '../../pipeline/ports.ts'
import { isoNow } from '../../process/clock.ts'
import type { Log } from '../../process/log.ts'
import type { LiveExchanges } from '../live-exchanges.ts'
import { emptyKillFile, type KillFile, readKillFile, writeKillFile } from './kill-file.ts'

/**
 * The effective kill switches: the union of the latest stored state of the control plane, of announcements that
 * replicas broadcast before they were stored, and of kill switches activated on this gateway. A local kill switch is
 * effective from its activation, also without a control plane.
 */
export type KillState = KillPort & {
  effective(): readonly KillEntry[]
  /**
   * Applies the kill message of a replica. The stored state in the message is used unless a newer state is known. The
   * announcements in the message are effective until they are settled (stored or lifted). Returns the number of
   * exchanges that were aborted. A message without `state` comes from a replica of an earlier version; `effective` then
   * replaces the known state.
   */
  applyRemote(effective: readonly KillEntry[], state?: KillStateMessage): number
  /**
   * Reports whether all given kill switches are effective on this gateway. Only then may the kill state be
   * acknowledged.
   */
  holds(entries: readonly KillEntry[]): boolean
  /**
   * Returns fields of an acknowledgement, from which a replica detects that it lacks newer state: the position of the
   * known state, and announcements. Each call continues after the announcements of the previous call.
   */
  report(): Pick<AckBody, 'kill_order' | 'announced'>
  /**
   * Reports whether at least one announcement is unsettled: no confirmation has arrived that it was stored or lifted.
   */
  hasAnnounced(): boolean
  /** Activates a kill switch on this gateway. Returns the number of exchanges that were aborted. */
  setLocal(scope: string, reason: string): number
  /** Removes a local kill switch that the control plane has not stored. */
  clearLocal(scope: string): void
  localKillSwitch(scope: string): LocalKillSwitch | undefined
  /** Returns the local kill switches for which the control plane has not confirmed that it stored them. */
  unforwarded(): readonly LocalKillSwitch[]
  /**
   * Marks a local kill switch as stored by the control plane. The kill switch stays effective until the first state
   * arrives that shows whether it is still active or was lifted: the state at position `from` or later, or without
   * `from` the next state after the known one.
   */
  setForwarded(id: string, from?: StateOrder): void
  /**
   * Removes the kill switch of this gateway for the scope, because the kill switch was lifted in the control plane.
   * Also removes the local kill switch with this id.
   */
  clearLifted(scope: string, id: string | undefined): void
  /** Sets the `namespace/name` of this gateway, which the control plane has sent. */
  setGatewayName(name: string): void
  /** Called after the instance of the agent has changed. Aborts the exchanges that a kill switch now covers. */
  instanceChanged(): void
}

/** A kill switch that was activated on this gateway. */
export type LocalKillSwitch = { readonly id: string; readonly entry: KillEntry }

export type KillStateDeps = {
  readonly file: string
  readonly live: LiveExchanges
  /** Returns the instance of the agent in this pod. Absent outside of a pod. */
  readonly instance?: () => Instance | null
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

/** Name of the gateway before the control plane has sent one. */
const UNNAMED = 'default/local'
/**
 * Maximum number of stored ids of settled announcements, that is, of kill switches that a replica broadcast and that
 * are since stored or lifted. An announcement whose id was evicted becomes effective again, until it is reported and
 * the control plane confirms that it is settled.
 */
const MAX_SETTLED = 1_000
/**
 * Maximum number of announcements (broadcast kill switches) in one acknowledgement. The control plane refuses more than
 * 1,000, and a body above 1 MiB (413).
 */
const MAX_REPORTED = 500
const MAX_REPORTED_BYTES = 256 * 1024
type Local = KillFile['local'][number]
type Uninstanced = Omit<KillSubject, 'instance'>

export function createKillState(deps: KillStateDeps): KillState {
  let state = load(deps)
  let effective: readonly KillEntry[] = []
  /** Number of announcements reported so far. */
  let reported = 0

  const ownSource = () => `gateway:${state.gateway}`
  const entryOf = ({ scope, reason, since }: Local): KillEntry => ({
    scope,
    reason,
    since,
    source: ownSource(),
  })
  const match = (subject: Uninstanced) => killOf(effective, subject, deps)
  /**
   * Returns the kill switch of an exchange. Requests of the gateway itself that cancel work are exempt, because a kill
   * switch causes them.
   */
  const killOfExchange = (exchange: Exchange) =>
    exchange.system?.kind !== 'cancel' ? match(subjectOf(exchange, state.gateway)) : null
  const without = (scope: string) => state.local.filter((entry) => entry.scope !== scope)
  const localKillSwitchOf = (local: Local): LocalKillSwitch => ({ id: local.id, entry: entryOf(local) })

  function unite(): void {
    const announced = state.announced.map(({ entry }) => entry)
    effective = unionEffective([...state.remote, ...announced, ...state.local.map(entryOf)])
  }

  function change(changes: Partial<KillFile>): number {
    state = { ...state, ...changes }
    unite()
    // Exchanges are aborted before the file is written, because a kill switch must not wait for the disk.
    const cut = effective.length === 0 ? 0 : deps.live.cut(killOfExchange)
    save(deps, state)
    return cut
  }
  unite()

  return {
    match: (subject) => match({ ...subject, gateway: state.gateway }),
    effective: () => effective,
    applyRemote: (entries, message) =>
      change(message === undefined ? withEffective(state, entries) : withMessage(state, message)),
    holds(entries) {
      const held = new Set(effective.map(keyOf))
      return entries.every((entry) => held.has(keyOf(entry)))
    },
    report() {
      const announced = nextAnnouncements(state.announced, reported)
      reported += announced.length
      return {
        ...(state.order === null ? {} : { kill_order: state.order }),
        ...(announced.length === 0 ? {} : { announced }),
      }
    },
    hasAnnounced: () => state.announced.length > 0,
    setLocal: (scope, reason) =>
      change({
        local: [...without(scope), { id: randomUUID(), scope, reason, since: isoNow(deps.clock) }],
      }),
    clearLocal(scope) {
      change({ local: without(scope) })
    },
    localKillSwitch: (scope) =>
      state.local.filter((entry) => entry.scope === scope).map(localKillSwitchOf)[0],
    unforwarded: () =>
      state.local.filter(({ forwardedAt }) => forwardedAt === undefined).map(localKillSwitchOf),
    setForwarded(id, from) {
      change(withForwarded(state, id, from))
    },
    clearLifted(scope, id) {
      change(withoutLifted(state, { id, scope, source: ownSource() }))
    },
    setGatewayName(name) {
      state = { ...state, gateway: name }
      unite()
    },
    instanceChanged: () => void change({}),
  }
}

function killOf(
  effective: readonly KillEntry[],
  subject: Uninstanced,
  { instance }: Pick<KillStateDeps, 'instance'>,
): KillEntry | null {
  return effective.length === 0 ? null : matchKill(effective, { ...subject, instance: instance?.() ?? null })
}

function withEffective({ local }: KillFile, entries: readonly KillEntry[]): Partial<KillFile> {
  return { remote: [...entries], local: local.filter(({ forwardedAt }) => forwardedAt === undefined) }
}

function withMessage(known: KillFile, message: KillStateMessage): Partial<KillFile> {
  const all = new Set([...known.settled, ...message.settled])
  const settled = [...all].slice(-MAX_SETTLED)
  const isOpen = ({ id }: { readonly id: string }) => !all.has(id)
  const byId = new Map([...known.announced, ...message.announced].map((each) => [each.id, each]))
  const announced = [...byId.values()].filter(isOpen)
  const taken = [...byId.keys(), ...message.settled]
  const local = known.local.filter(({ id }) => !taken.some((other) => other.endsWith(`:${id}`)))
  const { order, stored } = message
  if (known.order !== null && isEarlier(order, known.order)) return { announced, settled, local }
  const isKept = ({ forwardedAt }: Local) =>
    forwardedAt === undefined || (forwardedAt !== null && !isEarlier(forwardedAt, order))
  return { announced, settled, order, remote: stored, local: local.filter(isKept) }
}

function withForwarded(known: KillFile, id: string, from: StateOrder | undefined): Partial<KillFile> {
  const forwardedAt = from === undefined ? known.order : { ...from, revision: from.revision - 1 }
  const local = known.local.map((entry) => (entry.id === id ? { ...entry, forwardedAt } : entry))
  // The state at position `from` may have arrived before the reply to the forwarding call.
  const isCovered = from !== undefined && known.order !== null && !isEarlier(known.order, from)
  return { local: isCovered ? local.filter((entry) => entry.id !== id) : local }
}

function withoutLifted(
  { local, remote }: KillFile,
  lifted: Pick<KillEntry, 'scope' | 'source'> & { readonly id: string | undefined },
): Partial<KillFile> {
  const isLifted = ({ scope, source }: KillEntry) => scope === lifted.scope && source === lifted.source
  return {
    local: local.filter(({ id }) => id !== lifted.id),
    remote: remote.filter((entry) => !isLifted(entry)),
  }
}

/**
 * Returns as many announcements as fit in one acknowledgement, starting after those of the previous call. All
 * announcements are thereby reported in turn, even when some are never settled.
 */
function nextAnnouncements(announced: readonly KillAnnouncement[], from: number): KillAnnouncement[] {
  const at = announced.length === 0 ? 0 : from % announced.length
  const turn = [...announced.slice(at), ...announced.slice(0, at)].slice(0, MAX_REPORTED)
  let bytes = 0
  const beyond = turn.findIndex((each) => {
    bytes += Buffer.byteLength(JSON.stringify(each)) + 1
    return bytes > MAX_REPORTED_BYTES
  })
  return beyond === -1 ? turn : turn.slice(0, Math.max(1, beyond))
}

function keyOf({ scope, source }: KillEntry): string {
  return JSON.stringify([scope, source])
}

function subjectOf(exchange: Exchange, gateway: string): Uninstanced {
  const { agent } = exchange
  return {
    agent: agent?.name ?? null,
    agentId: agent?.id ?? null,
    connectors: killNames(exchange),
    gateway,
  }
}

/**
 * Reads the file. When the file cannot be read, returns a kill switch that covers everything until the control plane
 * sends its state.
 */
function load({ file, clock, log }: KillStateDeps): KillFile {
  try {
    return readKillFile(file) ?? emptyKillFile(UNNAMED)
  } catch (error) {
    log.error(
      { err: error, file },
      'the stored kill switches cannot be read, so all requests are denied until the control plane sends the kill switches in force',
    )
    const reason = `the stored kill switches in ${file} cannot be read, and the control plane has not sent the kill switches in force yet`
    return emptyKillFile(UNNAMED, [{ scope: 'all', source: 'kill.json', reason, since: isoNow(clock) }])
  }
}

function save({ file, log }: KillStateDeps, state: KillFile): void {
  try {
    writeKillFile(file, state)
  } catch (error) {
    log.error(
      { err: error, file },
      'changed kill switches cannot be stored, so they are lost when this process ends, until the control plane sends them again',
    )
  }
}
