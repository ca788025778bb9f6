import { randomUUID } from 'node:crypto'
import {
  type KillSubject,
  matchKill,
  unionEffective,
} from '../../../core/decision/kill-switch/kill-switch.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type {
  KillAnnouncement,
  KillEntry,
  KillStateMessage,
  StateOrder,
} from '../../../core/wire/gateway/kill.ts'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { KillPort } from '../../pipeline/ports.ts'
import { isoNow } from '../../process/clock.ts'
import type { Log } from '../../process/log.ts'
import type { LiveExchanges } from '../live-exchanges.ts'
import { emptyKillFile, type KillFile, readKillFile, writeKillFile } from './kill-file.ts'

/**
 * What is stopped: the union of the latest state that the control plane has stored, of stops that it broadcast before
 * they were stored, and of those that were set on this gateway. A stop set here counts from the moment it is set, also
 * while the control plane is away.
 */
export type KillState = KillPort & {
  effective(): readonly KillEntry[]
  /**
   * What a replica sent. Its stored state counts unless it is earlier than the one that is known here; what it
   * announced counts until it is settled. Returns how many exchanges were cut. Without `state` the replica is older
   * than these rules, and `effective` counts as it is.
   */
  applyRemote(effective: readonly KillEntry[], state?: KillStateMessage): number
  /** Whether all of these are in force here, so that they can be acknowledged. */
  holds(entries: readonly KillEntry[]): boolean
  /** What each acknowledgement says, so that a replica reads again what it lacks. Every call reports the next announcements. */
  report(): Pick<AckBody, 'kill_order' | 'announced'>
  /** Whether there are announcements that are not known to be settled. */
  hasAnnounced(): boolean
  /** Stops here and now; returns how many exchanges were cut. */
  setLocal(scope: string, reason: string): number
  /** Undoes a local stop that the control plane has not taken over. */
  clearLocal(scope: string): void
  /** The local stop for this scope. */
  localKillSwitch(scope: string): LocalKillSwitch | undefined
  /** Local stops that the control plane is not known to have. */
  unforwarded(): readonly LocalKillSwitch[]
  /**
   * The control plane has stored this local stop: it counts here until a state comes that has the stop or its lift, which
   * is `from` or later. Without `from` it is the next state after the one that is known.
   */
  setForwarded(id: string, from?: StateOrder): void
  /** The control plane has cleared our source for that scope, with the local stop of this id. */
  clearLifted(scope: string, id: string | undefined): void
  /** `namespace/name`, once the control plane has said it. */
  setGatewayName(name: string): void
}

/** A stop that was set here. */
export type LocalKillSwitch = { readonly id: string; readonly entry: KillEntry }

export type KillStateDeps = {
  readonly file: string
  readonly live: LiveExchanges
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

/** The one gateway of a laptop, until the control plane says otherwise. */
const UNNAMED = 'default/local'
/**
 * Ids of announcements that are stored or lifted. A replica that sends one whose id was evicted stops this gateway again,
 * until the gateway has given it back and the database has said that it is settled.
 */
const MAX_SETTLED = 1_000
/** Of announcements in one acknowledgement. The control plane refuses more than 1,000, and a body of more than 1 MiB (413). */
const MAX_REPORTED = 500
const MAX_REPORTED_BYTES = 256 * 1024
type Local = KillFile['local'][number]

export function createKillState(deps: KillStateDeps): KillState {
  let state = load(deps)
  let effective: readonly KillEntry[] = []
  /** How many announcements were reported. */
  let reported = 0

  const ownSource = () => `gateway:${state.gateway}`
  const entryOf = ({ scope, reason, since }: Local): KillEntry => ({
    ...{ scope, reason, since },
    source: ownSource(),
  })
  const match = (subject: KillSubject) => (effective.length === 0 ? null : matchKill(effective, subject))
  const without = (scope: string) => state.local.filter((entry) => entry.scope !== scope)
  const stopOf = (local: Local): LocalKillSwitch => ({ id: local.id, entry: entryOf(local) })

  function unite(): void {
    const announced = state.announced.map(({ entry }) => entry)
    effective = unionEffective([...state.remote, ...announced, ...state.local.map(entryOf)])
  }

  function change(changes: Partial<KillFile>): number {
    state = { ...state, ...changes }
    unite()
    // A stop waits for no disk.
    const cut =
      effective.length === 0 ? 0 : deps.live.cut((exchange) => match(subjectOf(exchange, state.gateway)))
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
      const announced = given(state.announced, reported)
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
    localKillSwitch: (scope) => state.local.filter((entry) => entry.scope === scope).map(stopOf)[0],
    unforwarded: () => state.local.filter(({ forwardedAt }) => forwardedAt === undefined).map(stopOf),
    setForwarded(id, from) {
      const forwardedAt = from === undefined ? state.order : { ...from, revision: from.revision - 1 }
      const local = state.local.map((entry) => (entry.id === id ? { ...entry, forwardedAt } : entry))
      // The state in question may have come before the answer.
      const isCovered = from !== undefined && state.order !== null && !isEarlier(state.order, from)
      change({ local: isCovered ? local.filter((entry) => entry.id !== id) : local })
    },
    clearLifted(scope, id) {
      const isOurs = (entry: KillEntry) => entry.scope === scope && entry.source === ownSource()
      change({
        local: state.local.filter((entry) => entry.id !== id),
        remote: state.remote.filter((entry) => !isOurs(entry)),
      })
    },
    setGatewayName(name) {
      state = { ...state, gateway: name }
      unite()
    },
  }
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
  const local = known.local.filter(({ id }) => !taken.some((given) => given.endsWith(`:${id}`)))
  const { order, stored } = message
  if (known.order !== null && isEarlier(order, known.order)) return { announced, settled, local }
  const isKept = ({ forwardedAt }: Local) =>
    forwardedAt === undefined || (forwardedAt !== null && !isEarlier(forwardedAt, order))
  return { announced, settled, order, remote: stored, local: local.filter(isKept) }
}

/**
 * As many announcements as one acknowledgement may have, beginning behind those that were reported before: each is
 * reported again and again, also behind others that are never settled.
 */
function given(announced: readonly KillAnnouncement[], from: number): KillAnnouncement[] {
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

function subjectOf(exchange: Exchange, gateway: string): KillSubject {
  const { agent, connector } = exchange
  return {
    agent: agent?.name ?? null,
    agentId: agent?.id ?? null,
    connectors: connector === undefined ? [] : [connector.connector.name, connector.entry.name],
    gateway,
  }
}

/** A state that cannot be read might have been a stop: then everything is stopped until the control plane speaks. */
function load({ file, clock, log }: KillStateDeps): KillFile {
  try {
    return readKillFile(file) ?? emptyKillFile(UNNAMED)
  } catch (error) {
    log.error(
      { err: error, file },
      'kill state cannot be read: everything is stopped until the control plane says',
    )
    const reason = `the stored kill state ${file} cannot be read`
    return emptyKillFile(UNNAMED, [{ scope: 'all', source: 'kill.json', reason, since: isoNow(clock) }])
  }
}

function save({ file, log }: KillStateDeps, state: KillFile): void {
  try {
    writeKillFile(file, state)
  } catch (error) {
    log.error({ err: error, file }, 'kill state cannot be stored; it holds until this process ends')
  }
}
