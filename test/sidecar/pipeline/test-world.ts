import type { z } from 'zod'
import { matchKill } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { makeId } from '../../../core/ids.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import { PERMISSION_SECTIONS } from '../../../core/snapshot/sections.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { LeaseStep } from '../../../core/state/lease.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type {
  AgentEntry,
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
} from '../../../core/wire/gateway/sync.ts'
import { createHandleRegistry, type FetchHandleOwners } from '../../../sidecar/control/handle-registry.ts'
import { createHostedWork, type HostedWork } from '../../../sidecar/control/hosted-work/hosted-work.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import type { ExchangeSignal } from '../../../sidecar/pipeline/exchange-abort.ts'
import { createPipeline, type PipelineOptions } from '../../../sidecar/pipeline/pipeline.ts'
import type {
  CredentialPort,
  HoldOutcome,
  NarrowedTokenPort,
  PipelinePorts,
} from '../../../sidecar/pipeline/ports.ts'
import {
  createRefusals,
  type Refusals,
  type RefusalsDeps,
} from '../../../sidecar/pipeline/refusal/refusals.ts'
import { createDialer } from '../../../sidecar/upstream/dial.ts'
import { createUpstream } from '../../../sidecar/upstream/http.ts'
import { type Recorder, type RecorderOptions, startRecorder } from '../../support/recorder.ts'
import { type TestExchangeInput, type TestReply, testExchange } from './test-exchange.ts'

export type Rule = readonly [
  pattern: string,
  decision: PermissionEntry['decision'],
  agent?: string,
  over?: Partial<PermissionEntry>,
]

export type Rules = {
  readonly connectors?: ReadonlyArray<Partial<ConnectorEntry>>
  readonly permissions?: readonly Rule[]
  readonly policies?: ReadonlyArray<Omit<Partial<PolicyEntry>, 'document'> & { readonly document: unknown }>
  readonly agents?: ReadonlyArray<Partial<AgentEntry>>
  readonly gateway?: Partial<z.input<typeof GatewaySection>>
}

/** The pipeline with a real upstream side and a recorder behind it; everything else is in memory and can be steered. */
export type World = AsyncDisposable & {
  readonly upstream: Recorder
  readonly records: TrafficRecord[]
  readonly intents: TrafficRecord[]
  readonly holds: HoldBody[]
  readonly live: Set<Exchange>
  /** Intents that a row counts. */
  readonly dropped: string[]
  /** Rows as they were last written. */
  readonly grown: Map<string, TrafficRecord>
  /** Refusals that rows count. */
  readonly counted: TrafficRecord[]
  /** Steers the clocks: milliseconds that the monotonic one is ahead, and the wall clock itself. */
  readonly clock: { aheadMs: number; wallMs: number | null }
  readonly refusals: Refusals
  /** Name and outcome of each look-up. */
  readonly lookUps: string[]
  /** What providers go on with. */
  readonly hostedWork: HostedWork
  readonly state: {
    snapshot: Snapshot | null
    kill: KillEntry[]
    lease: LeaseStep
    rate: { ok: true } | { ok: false; retryAfterS: number }
    isWritable: boolean
    intentError: Error | null
    onHandles: FetchHandleOwners
    instance: Instance | null
    onHold: (hold: HoldBody, signal: ExchangeSignal) => Promise<HoldOutcome>
    untilSettled: CredentialPort['untilSettled']
    narrowed: NarrowedTokenPort
  }
  apply(rules: Rules): void
  send(input: TestExchangeInput): Promise<Exchange & { readonly reply: TestReply }>
  run(exchange: Exchange): Promise<void>
  ports: PipelinePorts
}

export type WorldOptions = RecorderOptions & {
  readonly pipeline?: PipelineOptions
  readonly refusalLimits?: Pick<RefusalsDeps, 'whole' | 'windowMs'>
}

export async function startWorld(
  rules: Rules = {},
  { pipeline, refusalLimits, ...options }: WorldOptions = {},
): Promise<World> {
  const recorder = await startRecorder(options)
  const lookUps: string[] = []
  const upstream = createUpstream({
    dialer: createDialer(),
    monotonicMs: () => performance.now(),
    onLookUp: (_connector, name, outcome) => lookUps.push(`${name} ${outcome}`),
  })
  const records: TrafficRecord[] = []
  const intents: TrafficRecord[] = []
  const holds: HoldBody[] = []
  const live = new Set<Exchange>()
  const clock: World['clock'] = { aheadMs: 0, wallMs: null }
  const state: World['state'] = {
    snapshot: null,
    kill: [],
    lease: 'ok',
    rate: { ok: true },
    isWritable: true,
    intentError: null,
    instance: null,
    onHandles: async ({ hashes }) => ({ owners: hashes.map(() => 'unknown') }),
    onHold: async () => ({ kind: 'expired', approvalId: 'apv_1', note: null }),
    untilSettled: () => Promise.resolve(),
    narrowed: {
      cached: () => null,
      state: () => 'missing',
      fetch: async () => ({ kind: 'unavailable', reason: 'none' }),
    },
  }
  const dropped: string[] = []
  const grown = new Map<string, TrafficRecord>()
  const counted: TrafficRecord[] = []
  const hostedWork = createHostedWork()
  let seq = 0
  let ids = 0
  const ports: PipelinePorts = {
    snapshot: () => state.snapshot,
    instance: () => state.instance,
    lookUps: upstream.lookUps,
    credentials: {
      mayRefresh: () => false,
      refresh: () => Promise.resolve(),
      untilSettled: (isSettled, signal) => state.untilSettled(isSettled, signal),
      refusedAgain: () => undefined,
    },
    narrowed: {
      cached: (request) => state.narrowed.cached(request),
      state: (request) => state.narrowed.state(request),
      fetch: (request) => state.narrowed.fetch(request),
    },
    kill: {
      match: (subject) =>
        matchKill(state.kill, {
          ...{ ...subject, gateway: state.snapshot?.gateway.name ?? '', instance: state.instance },
        }),
    },
    lease: { step: () => state.lease },
    rate: { take: () => state.rate },
    journal: {
      get isWritable() {
        return state.isWritable
      },
      problem: 'The journal cannot be written.',
      intent(record) {
        if (state.intentError !== null) throw state.intentError
        intents.push(structuredClone(record))
        return { handle: { item: record, at: 0 }, written: Promise.resolve(undefined) }
      },
      result: (record) => records.push(structuredClone(record)),
      nextSeq: () => seq++,
      afterWrite: (send) => send(),
      drop: ({ id }) => void dropped.push(id),
      updateAggregate: (row) => void grown.set(row.id, JSON.parse(row.json())),
      processId: 'proc_test',
    },
    holds: {
      async open(hold) {
        holds.push(hold)
        const at = '2026-01-01T00:00:00.000Z'
        const given = {
          id: 'apv_1',
          kind: 'hold',
          status: 'pending',
          created_at: at,
          expires_at: at,
        } as const
        const empty = { answers: [], answered_groups: [], responded_by: null, note: null }
        return {
          outcome: 'created',
          approval: { ...hold, ...given, ...empty, required_groups: [] },
        }
      },
      wait(hold, signal) {
        holds.push(hold)
        return state.onHold(hold, signal)
      },
    },
    live: {
      add(exchange) {
        live.add(exchange)
        return () => live.delete(exchange)
      },
    },
    events: {
      accepted: () => () => undefined,
      finished: () => undefined,
      counted: (_exchange, record) => void counted.push(structuredClone(record)),
      rowFinished: () => undefined,
    },
    clock: { nowMs: () => clock.wallMs ?? Date.now(), monotonicMs: () => clock.aheadMs + performance.now() },
    newId: (kind) => makeId(kind, Buffer.from(String(ids++).padStart(16, '0'))),
    handles: createHandleRegistry({
      fetchOwners: (asked) => state.onHandles(asked),
      monotonicMs: () => clock.aheadMs + performance.now(),
    }),
    hostedWork,
    refusals: {
      assign: (exchange) => refusals.assign(exchange),
      finished: (exchange) => refusals.finished(exchange),
    },
  }
  const refusals = createRefusals({ ...ports, ...refusalLimits })
  const handle = createPipeline(ports, upstream, pipeline)
  const run = async (exchange: Exchange) => void (await handle(exchange))
  const apply = (next: Rules) => {
    state.snapshot = snapshotOf(next, recorder.port, (state.snapshot?.version ?? 0) + 1)
  }
  apply(rules)
  return {
    upstream: recorder,
    records,
    intents,
    holds,
    live,
    dropped,
    grown,
    counted,
    clock,
    refusals,
    lookUps,
    hostedWork,
    state,
    ports,
    apply,
    run,
    async send(input) {
      const exchange = testExchange(input)
      await run(exchange)
      return exchange
    },
    async [Symbol.asyncDispose]() {
      refusals.close()
      await upstream.close()
      await recorder.close()
    },
  }
}

/** `codehost` at the recorder, unless the test says otherwise; a secret that must never show up anywhere else. */
export const SECRET = 'canary-secret-of-the-connector'

export function connectorAt(port: number, over: Partial<ConnectorEntry> = {}): ConnectorEntry {
  return {
    id: 'conn_1',
    name: 'team/github',
    type: 'codehost',
    domains: [],
    ports: [443],
    auth: { type: 'token' },
    secret: SECRET,
    upstream: {
      url: `http://127.0.0.1:${port}`,
      allowPrivateAddresses: true,
      allowPlaintextCredential: true,
    },
    tlsMode: 'intercept',
    errorShape: 'service',
    actions: [],
    source: 'api',
    managed_by: null,
    ...over,
  }
}

export function snapshotOf(rules: Rules, port: number, version: number): Snapshot {
  const shards = Object.fromEntries(PERMISSION_SECTIONS.map((name) => [name, [] as PermissionEntry[]]))
  shards[PERMISSION_SECTIONS[0] ?? '']?.push(...(rules.permissions ?? []).map(permissionOf))
  const sections: Record<string, unknown> = {
    gateway: {
      id: 'gw_1',
      name: 'default/local',
      enforcementLevel: 'full_enforce',
      defaultDecision: 'deny',
      egress: { unmatchedHosts: 'deny', allowedHosts: [], tcp: [] },
      rateLimit: { requestsPerMinute: 120 },
      approvals: { timeoutSeconds: 300, maxPendingPerAgent: 20 },
      failurePolicy: { highRiskAfterSeconds: 30, writesAfterSeconds: 120, everythingAfterSeconds: 600 },
      audit: 'async',
      ...rules.gateway,
    },
    agents: (rules.agents ?? [{}]).map(agentOf),
    connectors: (rules.connectors ?? [{}]).map((over, n) => connectorAt(port, { id: `conn_${n}`, ...over })),
    policies: (rules.policies ?? []).map((over, n) => ({
      id: `pol_${n}`,
      name: `policy ${n}`,
      version: 1,
      priority: 100,
      mode: 'enforce',
      ...over,
    })),
    keys: [],
    ...shards,
  }
  const hashes = Object.fromEntries(Object.keys(sections).map((name) => [name, `${version}-${name}`]))
  return buildSnapshot({ version, sections, hashes })
}

function agentOf(over: Partial<AgentEntry>): AgentEntry {
  return {
    id: 'agent_1',
    name: 'builder',
    runtime: 'node',
    environment: 'staging',
    status: 'active',
    key_sha256: null,
    ...over,
  }
}

function permissionOf([action_pattern, decision, agent = '*', over = {}]: Rule, n: number): PermissionEntry {
  return {
    id: `perm_${n}`,
    agent,
    connector_type: action_pattern.split('.')[0]?.replace(/\*$/, '') as PermissionEntry['connector_type'],
    action_pattern,
    decision,
    reason: null,
    source: 'api',
    managed_by: null,
    ...over,
  }
}

export function killAll(reason = 'incident 7'): KillEntry {
  return { scope: 'all', source: 'api', reason, since: '2026-01-01T00:00:00.000Z' }
}

export function journalFailure(): ChaperoneError {
  return new ChaperoneError('journal_unavailable', { detail: 'the disk is full' })
}
