import pino from 'pino'
import { createGatewayCa } from '../../../controlplane/crypto/gateway-ca.ts'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { randomToken, syncKeyOf } from '../../../controlplane/crypto/tokens.ts'
import { bumpVersion } from '../../../controlplane/db/config-version.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createScopedQuery, type ScopedReads } from '../../../controlplane/db/scoped-query.ts'
import { actionCancellation } from '../../../controlplane/features/actions/cancellation/service.ts'
import { heldExecutions } from '../../../controlplane/features/actions/executions/held.ts'
import type { ClusterGroups } from '../../../controlplane/features/approvals/answers/answerable-sets.ts'
import type { ConfirmAnswer } from '../../../controlplane/features/approvals/answers/earlier-answers.ts'
import { createCancelKilled } from '../../../controlplane/features/approvals/cancellation/service.ts'
import { createPolicyExceptions } from '../../../controlplane/features/approvals/exceptions/service.ts'
import { ExpirySweeper } from '../../../controlplane/features/approvals/expiry/service.ts'
import { createApprovalRoutes } from '../../../controlplane/features/approvals/routes.ts'
import { createApprovals } from '../../../controlplane/features/approvals/service.ts'
import {
  ACCOUNTS_ONLY,
  createGroupMembers,
} from '../../../controlplane/features/authentication/cluster/group-members.ts'
import { createIdentities } from '../../../controlplane/features/authentication/service.ts'
import { createCommands } from '../../../controlplane/features/commands/service.ts'
import { findHandleOwners } from '../../../controlplane/features/gateways/processes/handle-store.ts'
import { leaseSlots } from '../../../controlplane/features/gateways/processes/quota-lease-store.ts'
import { createGatewayRoutes } from '../../../controlplane/features/gateways/processes/routes.ts'
import { findGatewayByName, getGateway } from '../../../controlplane/features/gateways/rows.ts'
import { createProcessOwners } from '../../../controlplane/features/gateways/service.ts'
import { upsertGateway } from '../../../controlplane/features/gateways/store.ts'
import { createKillRelay } from '../../../controlplane/features/kill-switch/relay.ts'
import { createKillSwitchRoutes } from '../../../controlplane/features/kill-switch/routes.ts'
import { createKillSwitch, type KillWaits } from '../../../controlplane/features/kill-switch/service.ts'
import { createOperatorRoutes } from '../../../controlplane/features/manifests/routes.ts'
import { createManifests } from '../../../controlplane/features/manifests/service.ts'
import { createExplain } from '../../../controlplane/features/permissions/explain.ts'
import { createExplainRoutes } from '../../../controlplane/features/permissions/explain-routes.ts'
import { createPodReports } from '../../../controlplane/features/pods/service.ts'
import { createPolicyCheck } from '../../../controlplane/features/policies/check.ts'
import { createRecords } from '../../../controlplane/features/traffic/ingest.ts'
import { createIngestQuota } from '../../../controlplane/features/traffic/ingest-quota.ts'
import { listGroups } from '../../../controlplane/features/users/rows.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { createHub } from '../../../controlplane/sync/hub.ts'
import { createFailingCredentials } from '../../../controlplane/sync/sections/failing-credentials.ts'
import { createSectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { Clock } from '../../../core/state/clock.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import { OPERATOR_PATHS } from '../../../core/wire/operator/operator.ts'
import type { PodRef } from '../../../core/wire/operator/pods.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const log = pino({ level: 'silent' })
export const OPERATOR_TOKEN = 'operator-token-of-the-tests'
const KEYRING = createKeyring(Buffer.alloc(32, 7))
const systemClock: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }

export type Enrolled = { readonly id: string; readonly name: string; readonly token: string }
export type Reply = { readonly status: number; readonly body: Record<string, unknown> }

/** The gateway-facing half of one control plane replica, on a real port and a real database. */
export type Replica = {
  readonly url: string
  readonly db: Db
  readonly hub: Awaited<ReturnType<typeof createHub>>
  readonly orgId: string
  /** Pods that this replica says it refuses. */
  readonly refusedPods: PodRef[]
  /** How often an operator has compared the whole cluster with the control plane here. */
  sweeps(): number
  enrol(name: string): Promise<Enrolled>
  /** As a gateway process. */
  gateway(of: Enrolled, method: string, path: string, body?: unknown, processId?: string): Promise<Reply>
  command(of: Enrolled, command: string, input?: unknown): Promise<Reply>
  operator(method: string, path: string, body?: unknown): Promise<Reply>
  user(of: UserPrincipal, method: string, path: string, body?: unknown): Promise<Reply>
  stop(): Promise<void>
}

export type World = {
  readonly database: TestDatabase
  readonly keyring: typeof KEYRING
  replica(options?: ReplicaOptions): Promise<Replica>
  stop(): Promise<void>
}

export type ReplicaOptions = {
  /** Of the kill switch; as in the product by default. */
  readonly waits?: KillWaits
  /** Another way to the same database. */
  readonly databaseUrl?: string
  /** Whether connections keep prepared statements; they do by default. */
  readonly preparesStatements?: boolean
  readonly hangMs?: number
  readonly connectMs?: number
  readonly beatMs?: number
  readonly isOnlyReplica?: boolean
  /** Streams that are admitted per second; as in the product by default. */
  readonly greetingsPerSecond?: number
  readonly clock?: Clock
  /** Whose Policies are the platform's; none by default. */
  readonly platformNamespaces?: ReadonlySet<string>
  /** Approver groups of the cluster; none by default. */
  readonly clusterGroups?: ClusterGroups
  /** Of earlier answers; they count as they are stored by default. */
  readonly confirmAnswer?: (db: Db) => ConfirmAnswer
}

/** With `start` on a server of its own: for a test that stops or freezes it. */
export async function startWorld(start: () => Promise<TestPostgres> = workerPostgres): Promise<World> {
  const postgres = await start()
  const database = await postgres.createMigratedDatabase()
  const replicas: Replica[] = []
  return {
    database,
    keyring: KEYRING,
    async replica(options = {}) {
      const replica = await startReplica({ databaseUrl: database.url, clock: systemClock, ...options })
      replicas.push(replica)
      return replica
    },
    async stop() {
      for (const replica of replicas) await replica.stop()
      await postgres.stop()
    },
  }
}

async function startReplica(given: ReplicaOptions & { databaseUrl: string; clock: Clock }): Promise<Replica> {
  const { databaseUrl, clock, hangMs, connectMs, beatMs, platformNamespaces = new Set<string>() } = given
  const db = await openDb({
    ...{ url: databaseUrl, log },
    ...(given.preparesStatements === undefined ? {} : { preparesStatements: given.preparesStatements }),
    ...(hangMs === undefined ? {} : { hangMs }),
    ...(connectMs === undefined ? {} : { connectMs }),
  })
  await migrate(db)
  const { id: orgId } = await db.tx((q) => ensureOrg(q))
  const library = createSectionLibrary({
    db,
    keyring: KEYRING,
    platformNamespaces,
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
  const hub = await createHub({
    ...{ db, keyring: KEYRING, library, log, clock },
    ...(beatMs === undefined ? {} : { beatMs }),
    isOnlyReplica: given.isOnlyReplica ?? false,
    ...(given.greetingsPerSecond === undefined ? {} : { greetingsPerSecond: given.greetingsPerSecond }),
  })
  const cancelKilled = createCancelKilled({
    actions: actionCancellation,
    orgId,
    killChecks: { of: () => null },
    notify: async () => {},
  })
  const killSwitch = createKillSwitch({
    ...{ db, hub, orgId, clock, log, cancelKilled },
    ...(given.waits && { waits: given.waits }),
  })
  const sweeper = new ExpirySweeper({ db, log })
  const approvals = createApprovals({
    ...{
      db,
      orgId,
      announcedKills: hub.kill.announced,
      executions: heldExecutions,
      onOpened: () => sweeper.wake(),
    },
    platformNamespaces: new Set(['platform']),
    clusterGroups: given.clusterGroups,
    confirmAnswer: given.confirmAnswer?.(db),
  })
  const { knownAction } = createCatalogue()
  const read: ScopedReads = (namespaces) => createScopedQuery(db, namespaces)
  const policyCheck = createPolicyCheck({ read, knownAction, members: ACCOUNTS_ONLY })
  const policyExceptions = createPolicyExceptions({ db, read, knownAction, platformNamespaces, policyCheck })
  const refusedPods: PodRef[] = []
  const failingCredentials = createFailingCredentials()
  const ownProcesses = createProcessOwners(db)
  const routes = [
    ...createGatewayRoutes({
      hub,
      library,
      approvals,
      records: createRecords({ db, orgId, log }),
      ownProcesses,
      ingestQuota: createIngestQuota({ nowMs: clock.monotonicMs, gatewayPerSecond: 200 }),
      gatewayCa: createGatewayCa(KEYRING, Date.now()),
      credentials: { refused: async () => false },
      narrowedTokens: { get: async () => ({ outcome: 'unavailable', reason: 'none' }) },
      leaseSlots: (borrower, asked) => leaseSlots(db, borrower, asked),
      handleOwners: (asked) => findHandleOwners(db, asked),
      commands: createCommands({
        db,
        keyring: KEYRING,
        orgId,
        approvals,
        killSwitch,
        isTokenRestricted: async () => false,
      }),
      syncKeyOf: async (id) => (await getGateway(db, id))?.syncKey ?? undefined,
    }),
    ...createApprovalRoutes({ approvals, policyExceptions }),
    ...createKillSwitchRoutes({ killSwitch }),
    ...createExplainRoutes({
      approvals,
      explain: createExplain({ library, kills: killSwitch.effective, clock }),
      gatewayFor: async (_namespaces, { gateway }) =>
        (await findGatewayByName(db, gateway ?? 'default/local'))?.id,
    }),
    ...createOperatorRoutes({
      manifests: createManifests({
        ...{ db, orgId, keyring: KEYRING, killSwitch, platformNamespaces },
        members: given.clusterGroups
          ? createGroupMembers({
              clusterGroups: given.clusterGroups,
              accounts: () => listGroups(db),
              nowMs: clock.monotonicMs,
            })
          : ACCOUNTS_ONLY,
        knownAction,
        processes: hub.processes,
      }),
      killSwitch,
      killRelay: createKillRelay({ killSwitch }),
      podReports: createPodReports(db),
      stateChanges: hub.changes,
      state: () => ({
        ...{ version: library.version ?? 0, processes: hub.processes(), refusedPods },
        failingCredentials: failingCredentials(library.configuration),
      }),
    }),
  ]
  const sessions = new Map<string, UserPrincipal>()
  const app = createHttpServer({
    tls: null,
    routes,
    log,
    version: '1.2.3',
    listenHost: '127.0.0.1',
    trustedProxies: [],
    auth: {
      identify: {
        session: async ([id = '']) => sessions.get(id),
        approverKey: async () => undefined,
        agentKey: async () => undefined,
        ownProcesses,
        admitStream: () => hub.admission.admit(),
        gatewayToken: createIdentities({
          db,
          podToken: null,
          operatorToken: null,
          clusterCallers: null,
          confirmAccess: async () => 'unchanged',
        }).gatewayToken,
      },
      isTokenRestricted: async () => false,
      adminTokenHash: null,
      operatorTokenHash: sha256(OPERATOR_TOKEN),
      maintenanceSecretHash: null,
      publicUrl: null,
    },
  })
  let sweeps = 0
  app.server.on('request', (request) => {
    if (request.url === OPERATOR_PATHS.sweep) sweeps += 1
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  let isStopped = false
  const gateway: Replica['gateway'] = (of, method, path, body, processId = `proc_${of.id}`) =>
    send(url + path, method, { authorization: `Bearer ${of.token}`, 'x-process-id': processId }, body)
  return {
    url,
    db,
    hub,
    orgId,
    refusedPods,
    sweeps: () => sweeps,
    async enrol(name) {
      const token = randomToken()
      const row = await db.tx(async (q) => {
        // An operator may store the same Gateway at this moment.
        await q.query('lock table gateways in share row exclusive mode', [])
        const known = await findGatewayByName(q, name)
        const stored = await upsertGateway(q, {
          id: known?.id ?? newId('gateway'),
          orgId,
          name,
          spec: known?.spec ?? GatewaySpec.parse({}),
          source: known?.source ?? 'api',
          managedBy: known?.managedBy ?? null,
          tokenSha256: sha256(token),
          syncKey: syncKeyOf(token),
        })
        await bumpVersion(q)
        return stored
      })
      return { id: row.id, name, token }
    },
    gateway,
    async command(of, command, input) {
      const reply = await gateway(of, 'POST', '/api/gateway/commands', { command, input })
      if (reply.status !== 200) throw new Error(`command ${command}: ${JSON.stringify(reply)}`)
      return reply.body as unknown as Reply
    },
    operator: (method, path, body) =>
      send(url + path, method, { authorization: `Bearer ${OPERATOR_TOKEN}` }, body),
    user(of, method, path, body) {
      const session = `session-of-${of.userId}`
      sessions.set(session, of)
      return send(url + path, method, { cookie: `svc_session=${session}` }, body)
    },
    async stop() {
      if (isStopped) return
      isStopped = true
      sweeper[Symbol.dispose]()
      await hub[Symbol.asyncDispose]()
      // A client may hold a connection on which it never asked anything: that one counts as busy.
      app.server.closeAllConnections()
      await app.close()
      await db.close()
    },
  }
}

export async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<Reply> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...json },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

export type StreamClient = {
  readonly messages: readonly DownMessage[]
  /** The first message that fits; rejects when none comes in 60 s. */
  next<T extends DownMessage['type']>(
    type: T,
    fits?: (message: Extract<DownMessage, { type: T }>) => boolean,
  ): Promise<Extract<DownMessage, { type: T }>>
  /** Resolves when the control plane ended the stream. */
  readonly ended: Promise<void>
  close(): void
}

/** A gateway process's stream. With `acks` every kill is acknowledged as a gateway would, to `acksTo` where a balancer sends it there. */
export async function openStream(
  replica: Pick<Replica, 'url' | 'gateway'>,
  of: Enrolled,
  options: {
    readonly processId?: string
    readonly acks?: boolean
    readonly acksTo?: Pick<Replica, 'gateway'>
  } = {},
): Promise<StreamClient> {
  const processId = options.processId ?? newId('process')
  const abort = new AbortController()
  const response = await fetch(`${replica.url}/api/gateway/stream`, {
    headers: { authorization: `Bearer ${of.token}`, 'x-process-id': processId },
    signal: abort.signal,
  })
  if (response.status !== 200 || response.body === null) throw new Error(`stream answered ${response.status}`)
  const messages: DownMessage[] = []
  const waiting = new Set<() => void>()
  const take = (line: string) => {
    const message = JSON.parse(line) as DownMessage
    messages.push(message)
    for (const wake of waiting) wake()
    if (message.type !== 'kill' || options.acks !== true) return
    const ack = { kill_seq: message.seq, applied_at: new Date().toISOString() }
    const to = options.acksTo ?? replica
    to.gateway(of, 'POST', '/api/gateway/ack', ack, processId).catch(() => undefined)
  }
  return {
    messages,
    ended: readLines(response.body, take),
    async next(type, fits = () => true) {
      const find = () => messages.find((message) => message.type === type && fits(message as never)) as never
      const deadline = Date.now() + 60_000
      for (let found = find(); ; found = find()) {
        if (found !== undefined) return found
        if (Date.now() > deadline) throw new Error(`no ${type} came; got ${JSON.stringify(messages)}`)
        await arrival(waiting)
      }
    },
    close: () => abort.abort(),
  }
}

function arrival(waiting: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      waiting.delete(done)
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(done, 500)
    waiting.add(done)
  })
}

async function readLines(body: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line)
    }
  } catch (error) {
    // Closed from this side, or cut: what came before is in `messages`.
    if (!(error instanceof Error)) throw error
  }
}

export function holdBody(changes: Partial<HoldBody> = {}): HoldBody {
  return {
    binding: 'a'.repeat(64),
    agent: 'builder',
    act_id: newId('actionRequest'),
    connector: 'codehost',
    action_type: 'codehost.pr.merge',
    target: 'acme/site',
    method: 'PUT',
    host: 'api.github.com',
    path: '/repos/acme/site/pulls/1/merge',
    headers: [],
    parameters: { number: '1' },
    risk_score: 0.5,
    risk_factors: ['medium'],
    matched_rule: null,
    required_approver_groups: [],
    requested_by_agent_text: null,
    body_sha256: null,
    unread_body: null,
    ...changes,
  }
}

export function person(changes: Partial<UserPrincipal> = {}): UserPrincipal {
  return {
    kind: 'user',
    userId: newId('user'),
    email: 'ann@example.com',
    role: 'member',
    groups: [],
    via: 'session',
    namespaces: 'all',
    ...changes,
  }
}

/** The audit events of one action request, oldest first. */
export async function auditOf(
  db: Db,
  actId: string,
): Promise<Array<{ type: string; details: Record<string, unknown> }>> {
  const { rows } = await db.query<{ type: string; details: Record<string, unknown> }>(
    'select event_type as type, details from audit_events where action_request_id = $1 order by id',
    [actId],
  )
  return rows
}
