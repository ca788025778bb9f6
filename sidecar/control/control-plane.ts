import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { Clock } from '../../core/state/clock.ts'
import { type LeaseStep, leaseStep } from '../../core/state/lease.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import {
  type DownMessage,
  type ResultBody,
  type StatusBody,
  SYNC_PATHS,
} from '../../core/wire/gateway/sync.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import { isoNow } from '../process/clock.ts'
import type { Log } from '../process/log.ts'
import { type Acks, createAcks } from './acks.ts'
import { type ClientDeps, type ControlClient, createControlClient } from './client/client.ts'
import { createRetryLoop, type RetryLoop } from './client/retry-loop.ts'
import { type Commands, createCommands } from './commands.ts'
import type { Order } from './execute/execute.ts'
import { createHolds, type Holds } from './holds/holds.ts'
import type { Cancellations } from './hosted-work/cancellations.ts'
import { createKillForwarding, type KillForwarding } from './kill-switch/kill-forwarding.ts'
import type { KillState } from './kill-switch/kill-state.ts'
import { type ConditionWaits, createConditionWaits } from './snapshot/condition-waits.ts'
import { createSnapshots, type Snapshots } from './snapshot/snapshots.ts'
import { createStatusReports, type StatusReports } from './status-reports.ts'
import type { GatewayHandlers } from './stream/deferred-handlers.ts'
import { createHeartbeats, type Heartbeats } from './stream/heartbeats.ts'
import type { Message } from './stream/message-dispatcher.ts'
import { ControlStream, type StreamTimes } from './stream/stream.ts'

export type ControlPlaneDeps = ClientDeps & {
  readonly kill: KillState
  readonly clock: Clock
  readonly random: () => number
  /** Time limits of heartbeats and of the search for another replica. */
  readonly streamTimes?: Partial<StreamTimes>
  readonly status: () => StatusBody
  readonly onSnapshot: (snapshot: Snapshot) => void
  /** Called with the number of processes that serve each agent. */
  readonly onQuota: (agents: Message<'quota'>['agents']) => void
  /** Called with the instance of the agent in this pod: after connecting, and when a claim adopts the pod. */
  readonly onInstance?: (instance: Instance) => void
  /**
   * Cancels the work that agents started at providers, if a kill switch covers the work. The acknowledgement of a kill
   * switch contains a report of earlier cancellations; new cancellations start after the acknowledgement.
   */
  readonly cancellations: Cancellations
  /** Executes an action that the control plane ordered. Never rejects. */
  readonly execute: (order: Order) => Promise<ResultBody>
  readonly log: Log
}

/**
 * Connection of the gateway to its control plane. A stream delivers the messages of the control plane; calls send the
 * messages of the gateway.
 */
export type ControlPlane = {
  readonly client: ControlClient
  readonly heartbeats: Heartbeats
  readonly snapshots: Snapshots
  readonly waits: ConditionWaits
  readonly holds: Holds
  readonly commands: Commands
  readonly killForwarding: KillForwarding
  /**
   * Returns the step of the `failurePolicy` that applies, which depends on the time since the connection to the control
   * plane was lost. The step decides which requests are refused.
   */
  leaseStep(): LeaseStep
  /** Returns the reason why no stream is open; null while one is open, and before the first attempt has failed. */
  problem(): string | null
  /** Sends a status report immediately instead of at the next interval. */
  reportStatus(): void
  start(): void
  /** Ends the stream. Calls of `client` remain possible until the client is closed. */
  close(): void
}

const FAILURE_POLICY = {
  highRiskAfterSeconds: LIMITS.leaseHighRiskMs / 1_000,
  writesAfterSeconds: LIMITS.leaseWritesMs / 1_000,
  everythingAfterSeconds: LIMITS.leaseEverythingMs / 1_000,
}

export function createControlPlane(deps: ControlPlaneDeps): ControlPlane {
  const { url, clock, random, log } = deps
  const client = clientOf(deps, () => snapshots.current() === null)
  const send = createAcks(client, log)
  const ack: Acks = (body) => send({ ...body, ...deps.kill.report(), ...snapshots.report() })
  const heartbeats = createHeartbeats(clock)
  const waits = createConditionWaits()
  const commands = createCommands(client, url)
  const killForwarding = createKillForwarding({ kill: deps.kill, commands, random, nowMs: clock.nowMs })
  /** Reports kill switch announcements until a replica confirms that they were stored or lifted. */
  const announcementRetries = createRetryLoop({
    random,
    isPending: deps.kill.hasAnnounced,
    attempt: () => ack({ applied_at: isoNow(clock) }),
  })
  const holds = createHolds({ client, random, log })
  const snapshots: Snapshots = createSnapshots({
    client,
    clock,
    random,
    log,
    ack: (body) => void ack(body),
    onSnapshot(snapshot) {
      deps.onSnapshot(snapshot)
      waits.changed()
      if (snapshot.notUnderstood !== undefined) reports.now()
    },
  })
  const { isConnected, status } = { isConnected: () => heartbeats.isConnected, status: deps.status }
  const reports = createStatusReports({ client, isConnected, status, log })
  const stream = new ControlStream({
    client,
    controlPlaneUrl: url,
    heartbeats,
    clock,
    random,
    log,
    ...(deps.streamTimes === undefined ? {} : { times: deps.streamTimes }),
    handlers: handlersOf(deps, {
      client,
      ack,
      snapshots,
      reports,
      holds,
      killForwarding,
      announcementRetries,
    }),
  })

  return {
    client,
    heartbeats,
    snapshots,
    waits,
    holds,
    commands,
    killForwarding,
    leaseStep() {
      const lostForMs = heartbeats.lostForMs()
      if (lostForMs === 0) return 'ok'
      return leaseStep(lostForMs, snapshots.current()?.gateway.failurePolicy ?? FAILURE_POLICY)
    },
    reportStatus: reports.now,
    problem: () => stream.problem,
    start: () => stream.start(),
    close() {
      for (const part of [stream, killForwarding, announcementRetries, snapshots, deps.cancellations])
        part.close()
      reports.close()
    },
  }
}

function clientOf(
  { url, token, processId, headers = {}, caFile = null, resolve }: ControlPlaneDeps,
  isStarting: () => boolean,
): ControlClient {
  return createControlClient({
    url,
    token,
    processId,
    headers,
    caFile,
    isStarting,
    ...(resolve === undefined ? {} : { resolve }),
  })
}

type Recipients = Pick<ControlPlane, 'client' | 'snapshots' | 'holds' | 'killForwarding'> & {
  readonly ack: Acks
  readonly reports: StatusReports
  readonly announcementRetries: RetryLoop
}

/** Returns the handlers of the messages that the control plane sends on the stream. */
function handlersOf(
  deps: ControlPlaneDeps,
  { client, ack, snapshots, reports, holds, killForwarding, announcementRetries }: Recipients,
): GatewayHandlers {
  return {
    hello({ gateway }) {
      deps.kill.setGatewayName(gateway.name)
      reports.now()
      holds.reconnected()
      killForwarding.wake()
      announcementRetries.wake()
    },
    sections: snapshots.offer,
    kill(message, isCurrent) {
      applyKill(message, { ...deps, ack: isCurrent ? ack : done })
      announcementRetries.wakeLater()
    },
    verdict: ({ verdict }) => holds.verdict(verdict),
    quota: ({ agents }) => deps.onQuota(agents),
    instance: ({ instance }) => deps.onInstance?.(instance),
    execute: (order) => void carryOut(order, deps.execute, { client, log: deps.log }),
  }
}

type KillContext = Pick<ControlPlaneDeps, 'kill' | 'clock' | 'log' | 'cancellations'> & {
  readonly ack: Acks
}

/**
 * Applies a kill state, and acknowledges the kill state after every exchange that it covers was aborted. A stored state
 * that is older than the known state is not applied. The acknowledgement contains the position of the known state, so
 * that the replica reads the newer state.
 */
function applyKill(
  { seq, effective, state }: Extract<DownMessage, { type: 'kill' }>,
  { kill, clock, log, ack, cancellations }: KillContext,
): void {
  const cut = kill.applyRemote(effective, state)
  const applied = kill.holds(effective) ? { kill_seq: seq } : {}
  // Cancellations at providers start after the acknowledgement, even if it was not delivered.
  void ack({ ...applied, hosted_work: cancellations.report(), applied_at: isoNow(clock) }).then(
    cancellations.begin,
  )
  if (effective.length > 0)
    log.warn({ scopes: effective.map((entry) => entry.scope), cut }, 'kill switch active')
}

/**
 * Executes an execution order of the control plane (an action or a credential test), and sends the result once. If the
 * result is lost, the control plane records the outcome as unknown.
 */
async function carryOut(
  order: Order,
  execute: ControlPlaneDeps['execute'],
  { client, log }: { readonly client: ControlClient; readonly log: ControlPlaneDeps['log'] },
): Promise<void> {
  const { order_id, action_request_id } = order
  try {
    const result = await execute(order)
    await client.post(SYNC_PATHS.results, result, RESULT_TIMEOUT_MS)
  } catch (error) {
    log.warn(
      { err: error, order_id, action_request_id },
      'result of an action that was submitted to the control plane could not be delivered to it; the record of the action has the outcome',
    )
  }
}

const RESULT_TIMEOUT_MS = 10_000

function done(): Promise<void> {
  return Promise.resolve()
}
