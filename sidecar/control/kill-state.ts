import { type KillSubject, matchKill, unionEffective } from '../../core/decision/kill-switch.ts'
import type { KillEntry } from '../../core/wire/kill.ts'
import { type Clock, isoNow } from '../clock.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { KillPort } from '../pipeline/ports.ts'
import { type KillFile, readKillFile, writeKillFile } from './kill-file.ts'
import type { Live } from './live.ts'

/**
 * What is stopped: the union of what the control plane says and what was set on this gateway. Each source is latched;
 * one set here counts from the moment it is set, also while the control plane is away.
 */
export type KillState = KillPort & {
  effective(): readonly KillEntry[]
  /** The control plane's whole effective state. Returns how many exchanges were cut. */
  applyRemote(effective: readonly KillEntry[]): number
  /** Stops here and now; returns how many exchanges were cut. */
  setLocal(scope: string, reason: string): number
  /** Undoes a local stop that the control plane has not taken over. */
  clearLocal(scope: string): void
  /** Local stops that the control plane does not know yet. */
  unforwarded(): readonly KillEntry[]
  /** The control plane has stored our stop: from now on its word decides. */
  setForwarded(scope: string): void
  /** The control plane has cleared our source for that scope. */
  clearForwarded(scope: string): void
  /** `namespace/name`, once the control plane has said it. */
  setGatewayName(name: string): void
}

export type KillStateDeps = {
  readonly file: string
  readonly live: Live
  readonly clock: Clock
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** The one gateway of a laptop, until the control plane says otherwise. */
const UNNAMED = 'default/local'

type LocalEntry = KillFile['local'][number]

export function createKillState(deps: KillStateDeps): KillState {
  const stored = load(deps)
  let gatewayName = stored.gateway
  let remote: readonly KillEntry[] = stored.remote
  const local = new Map<string, LocalEntry>(stored.local.map((entry) => [entry.scope, entry]))
  let effective: readonly KillEntry[] = []

  const ownSource = () => `gateway:${gatewayName}`
  const localEntries = () => [...local.values()].map((entry) => ({ ...entry, source: ownSource() }))
  const match = (subject: KillSubject) => (effective.length === 0 ? null : matchKill(effective, subject))

  function unite(): void {
    effective = unionEffective([...remote, ...localEntries()])
  }

  function changed(): number {
    unite()
    save(deps, { gateway: gatewayName, remote: [...remote], local: [...local.values()] })
    return effective.length === 0 ? 0 : deps.live.cut((exchange) => match(subjectOf(exchange, gatewayName)))
  }
  unite()

  return {
    match: (subject) => match({ ...subject, gateway: gatewayName }),
    effective: () => effective,
    applyRemote(entries) {
      remote = entries
      return changed()
    },
    setLocal(scope, reason) {
      local.set(scope, { scope, reason, since: isoNow(deps.clock) })
      return changed()
    },
    clearLocal(scope) {
      local.delete(scope)
      changed()
    },
    unforwarded: localEntries,
    setForwarded(scope) {
      const entry = localEntries().find((candidate) => candidate.scope === scope)
      if (entry === undefined) return
      local.delete(scope)
      remote = [...remote, entry]
      changed()
    },
    clearForwarded(scope) {
      local.delete(scope)
      remote = remote.filter((entry) => entry.scope !== scope || entry.source !== ownSource())
      changed()
    },
    setGatewayName(name) {
      gatewayName = name
      unite()
    },
  }
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
    return readKillFile(file) ?? { gateway: UNNAMED, remote: [], local: [] }
  } catch (error) {
    log.error(
      { err: error, file },
      'kill state cannot be read: everything is stopped until the control plane says',
    )
    const reason = `the stored kill state ${file} cannot be read`
    const remote = [{ scope: 'all', source: 'kill.json', reason, since: isoNow(clock) }]
    return { gateway: UNNAMED, remote, local: [] }
  }
}

function save({ file, log }: KillStateDeps, state: KillFile): void {
  try {
    writeKillFile(file, state)
  } catch (error) {
    log.error({ err: error, file }, 'kill state cannot be stored; it holds until this process ends')
  }
}
