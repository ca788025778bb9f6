import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { GatewayProcess, OperatorState } from '../../core/wire/operator/operator.ts'

/** The state of one Gateway, merged from all replicas of the control plane. */
export type GatewayState = {
  /** Version of the configuration that the control plane publishes. */
  readonly version: number
  /** Connected processes of the Gateway. */
  readonly processes: readonly GatewayProcess[]
  /** All kill switches of the installation. */
  readonly kills: readonly KillEntry[]
  /** Processes that have not applied a published version for over 60 s. */
  readonly lagging: readonly GatewayProcess[]
}

/** The states of all Gateways, by `namespace/name`. */
export type GatewayStates = {
  /**
   * Stores the state of all replicas. Returns the Gateways whose status may change as a result; null means all
   * Gateways.
   */
  put(state: OperatorState): ReadonlySet<string> | null
  /** Returns the state of a Gateway; null before the first call of `put`. */
  of(gateway: string): GatewayState | null
  /** Returns the milliseconds until another process counts as lagging; null without such a process. */
  dueMs(gateway: string): number | null
}

/**
 * Time in milliseconds after which a process counts as lagging. The time starts when the operator first sees
 * that the process has not applied a version.
 */
const LAG_MS = 60_000

/**
 * Lag of a process: the version that it has not applied, and the monotonic time (ms) at which the lag was first seen.
 */
type Lag = { readonly version: number; readonly since: number }

export function createGatewayStates(monotonicMs: () => number = () => performance.now()): GatewayStates {
  let state: OperatorState | null = null
  let processes = new Map<string, readonly GatewayProcess[]>()
  let texts = new Map<string, string>()
  let kills = ''
  let lags = new Map<string, Lag>()

  function lagOf(process: GatewayProcess, version: number): Lag | null {
    if (isCurrent(process, version)) return null
    const known = lags.get(process.process_id)
    // The time of a lag restarts when the process applies the version that it lacked, even if a newer version exists.
    const isKnown = known !== undefined && !isCurrent(process, known.version)
    return isKnown ? known : { version, since: monotonicMs() }
  }

  const ageMs = ({ process_id: id }: GatewayProcess) => monotonicMs() - (lags.get(id)?.since ?? monotonicMs())

  return {
    put(next) {
      lags = new Map(
        next.processes.flatMap((process) => {
          const lag = lagOf(process, next.version)
          return lag === null ? [] : [[process.process_id, lag] as const]
        }),
      )
      const before = texts
      state = next
      processes = Map.groupBy(next.processes, ({ gateway }) => gateway)
      texts = new Map([...processes].map(([name, all]) => [name, textOf(all, next.version)]))
      const killsBefore = kills
      kills = JSON.stringify(next.kills)
      if (kills !== killsBefore) return null
      const names = new Set([...before.keys(), ...texts.keys()])
      return new Set([...names].filter((name) => before.get(name) !== texts.get(name)))
    },
    of(gateway) {
      if (state === null) return null
      const own = processes.get(gateway) ?? []
      const lagging = own.filter((process) => ageMs(process) > LAG_MS)
      return { version: state.version, processes: own, kills: state.kills, lagging }
    },
    dueMs(gateway) {
      const ages = (processes.get(gateway) ?? []).filter(({ process_id: id }) => lags.has(id)).map(ageMs)
      const left = ages.filter((age) => age <= LAG_MS).map((age) => LAG_MS - age + 1)
      return left.length === 0 ? null : Math.min(...left)
    },
  }
}

/** Reports whether a process has applied the version. */
export function isCurrent({ covered_version: covered }: GatewayProcess, version: number): boolean {
  return covered !== null && covered >= version
}

/**
 * Returns the fields that the status of a Gateway shows, as one text for comparison. A new version that all processes
 * have already applied does not change the text.
 */
function textOf(processes: readonly GatewayProcess[], version: number): string {
  return JSON.stringify(
    processes.map((process) => ({ ...process, covered_version: isCurrent(process, version) })),
  )
}

/**
 * Merges the states of all replicas. Returns null when there is no state. A replica also reports the processes of other
 * replicas, with a delay.
 */
export function mergeStates(states: readonly OperatorState[]): OperatorState | null {
  const [first] = states
  if (first === undefined) return null
  const processes = new Map<string, GatewayProcess>()
  for (const process of states.flatMap((state) => state.processes)) {
    const known = processes.get(process.process_id)
    processes.set(process.process_id, known === undefined ? process : mergeProcess(known, process))
  }
  const kills = new Map(
    states.flatMap((state) => state.kills).map((kill) => [`${kill.source}\n${kill.scope}`, kill]),
  )
  // A replica that is behind may report a credential error that has ended.
  const newest = states.reduce((a, b) => (b.version > a.version ? b : a))
  return {
    version: newest.version,
    revision: '',
    failing_credentials: newest.failing_credentials,
    kills: sorted(kills),
    processes: sorted(processes),
    refused_pods: sorted(
      new Map(states.flatMap((state) => state.refused_pods).map((pod) => [pod.podUid, pod])),
    ),
  }
}

function mergeProcess(a: GatewayProcess, b: GatewayProcess): GatewayProcess {
  const covered = Math.max(a.covered_version ?? -1, b.covered_version ?? -1)
  return {
    ...a,
    covered_version: covered < 0 ? null : covered,
    has_kill_state: a.has_kill_state || b.has_kill_state,
    rejected: a.rejected ?? b.rejected,
    conditions: [...new Set([...a.conditions, ...b.conditions])].sort(),
    warnings: [...new Set([...a.warnings, ...b.warnings])].sort(),
  }
}

function sorted<T>(byKey: ReadonlyMap<string, T>): T[] {
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
}
