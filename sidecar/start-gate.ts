import { truncate, writeFile } from 'node:fs/promises'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import type { PodConfig } from './config.ts'
import type { ConditionWaits } from './control/snapshot/condition-waits.ts'
import type { Log } from './process/log.ts'

export type StartGateDeps = {
  readonly config: Pick<PodConfig, 'startsOnlyWithRules'>
  readonly snapshot: () => Snapshot | null
  readonly waits: ConditionWaits
  /** Returns the reason why the control plane is not connected; null while it is connected. */
  readonly problem: () => string | null
  readonly monotonicMs: () => number
  readonly log: Pick<Log, 'info' | 'warn'>
}

/**
 * Longest wait of the agent for the first snapshot, in milliseconds. Afterwards the agent starts without a snapshot,
 * and its requests receive 503. With `startsOnlyWithRules` the agent waits for the snapshot without a limit.
 */
const FIRST_RULES_MS = 30_000
/** Time limit in milliseconds of a response to the start-up probe. The `timeoutSeconds` of the probe is longer. */
const ANSWER_MS = 1_500

/** File whose content the kubelet reports when the container ends, for example after its start-up probe failed. */
const TERMINATION_LOG = '/dev/termination-log'

/** Writes the text that the kubelet reports if the container ends. Outside of a container there is no such file. */
function note(text: string): void {
  writeFile(TERMINATION_LOG, text, { flag: 'r+' })
    .then(() => truncate(TERMINATION_LOG, Buffer.byteLength(text)))
    .catch(() => undefined)
}

/** Creates the gate that decides when the agent may start and when the pod is ready. */
export function createStartGate(
  { config, snapshot, waits, problem, monotonicMs, log }: StartGateDeps,
  isHeld: () => boolean,
) {
  let openedAt: number | null = null
  let isTrusted = false
  let hasStarted = false
  function evaluate(): boolean {
    const isLate = openedAt !== null && monotonicMs() - openedAt >= FIRST_RULES_MS
    const hasRules = snapshot() !== null || (isLate && !config.startsOnlyWithRules)
    const mayStart = openedAt !== null && isTrusted && isHeld() && hasRules
    if (mayStart && !hasStarted) {
      log.info({ ...spent(), late: isLate }, 'the agent may start')
      note('')
    }
    // The decision is final, because an agent that has started cannot be stopped again. `notReady` returns the
    // reason why its requests are not served.
    hasStarted ||= mayStart
    return hasStarted
  }
  function because(lack: string): string {
    const cause = problem()
    return cause === null ? `${lack}; see the log of the sidecar` : `${lack}: ${cause}`
  }
  /** Returns the first reason why the pod is not ready; null when it is. */
  function notReady(): string | null {
    if (openedAt === null) return 'the listeners are not open'
    if (!isHeld()) return 'the traffic of the pod is not captured'
    if (!isTrusted) return because('the control plane has signed no certificate')
    return snapshot() === null ? because('the control plane has sent no rules of the Gateway') : null
  }
  /** Returns the first reason why the agent may not start yet; null when it may. */
  const waitsFor = () => (hasStarted ? null : notReady())
  // The gate is evaluated whenever its inputs change, not only at a probe of the kubelet.
  void waits.until(evaluate, FIRST_RULES_MS).then(() => {
    const reason = waitsFor()
    if (reason === null) return
    log.warn({ reason }, 'the agent waits for the sidecar')
    note(`the agent did not start: ${reason}`)
  })
  return {
    opened(): void {
      openedAt = monotonicMs()
      waits.changed()
    },
    trusted(): void {
      isTrusted = true
      waits.changed()
    },
    async whenStarted(): Promise<string | null> {
      await waits.until(evaluate, ANSWER_MS)
      evaluate()
      return waitsFor()
    },
    notReady,
  }
}

/** Returns the milliseconds since the process started, and the CPU time of the process in milliseconds. */
function spent(): { readonly process_ms: number; readonly cpu_ms: number } {
  const { user, system } = process.cpuUsage()
  return { process_ms: Math.round(performance.now()), cpu_ms: Math.round((user + system) / 1_000) }
}
