import type { Logger } from 'pino'
import { createCatalogue } from '../core/connectors/catalogue.ts'
import type { Namespaces } from '../core/wire/rights.ts'
import { createActionParts } from './action-parts.ts'
import type { ControlPlaneConfig } from './config.ts'
import type { Keyring } from './crypto/keyring.ts'
import { createPasswords, type PasswordCost, type Passwords } from './crypto/password.ts'
import { createGatewayParts, type GatewayParts } from './gateway-parts.ts'
import { isOnlyHere } from './http/only-here.ts'
import { createBotIdentity } from './notify/bot-identity.ts'
import { createChatClient, createNotify } from './notify/notify.ts'
import { createSignIn } from './oidc/oidc.ts'
import { createPageParts } from './page-parts.ts'
import { createAgents } from './services/agents.ts'
import { createExpirySweeper } from './services/approval-expiry.ts'
import { createApprovals } from './services/approvals.ts'
import { createTokenRestriction } from './services/approvals-mode.ts'
import { createApproverKeys } from './services/approver-keys.ts'
import { createAuditExport } from './services/audit-export.ts'
import { createBundle } from './services/bundle.ts'
import { createCommands } from './services/commands.ts'
import { createConfig } from './services/config.ts'
import { createControlPlaneMetrics } from './services/control-plane-metrics.ts'
import { createDailyCleanup } from './services/daily-cleanup.ts'
import { createDesired, type DesiredDeps } from './services/desired.ts'
import { createEditingGuard } from './services/editing-guard.ts'
import { createExplain } from './services/explain.ts'
import { createGatewayProbe } from './services/gateway-probe.ts'
import { createHealth } from './services/health.ts'
import { createIngestQuota } from './services/ingest-quota.ts'
import { prepareInstallation } from './services/installation.ts'
import { createKillRelay } from './services/kill-relay.ts'
import { createKillSwitch, type KillSwitch } from './services/kill-switch.ts'
import { createKubeClient } from './services/kube-client.ts'
import { readOrigins } from './services/object-origins.ts'
import { createOwnerLinkSecret } from './services/owner-link-secret.ts'
import { createOwnerLinks } from './services/owner-links.ts'
import { createPasswordChange } from './services/password-change.ts'
import { createPodReports, type PodIdentities } from './services/pod-identities.ts'
import { createPolicies } from './services/policies.ts'
import { createRecords } from './services/records.ts'
import { createRegistration } from './services/registration.ts'
import { createRetention } from './services/retention.ts'
import { createSessions } from './services/sessions.ts'
import { createSettings } from './services/settings.ts'
import { createSetup } from './services/setup.ts'
import { createSignInDevices } from './services/sign-in-devices.ts'
import { createTraffic } from './services/traffic.ts'
import { createUnownedHosts } from './services/unowned-hosts.ts'
import { createUsers } from './services/users.ts'
import type { Db } from './store/query.ts'
import { createScopedQuery, type ScopedReads } from './store/scoped-query.ts'
import type { Clock } from './sync/clock.ts'
import { createHub, type Hub } from './sync/hub.ts'
import { createSectionLibrary, type SectionLibrary } from './sync/library.ts'
import type { OrganisationTokenScope } from './sync/organisation-token.ts'

export type PartsDeps = {
  readonly config: ControlPlaneConfig
  readonly db: Db
  readonly log: Logger
  readonly keyring: Keyring
  readonly localGatewayToken: string | null
  /** The chat provider's web API; its public one by default. */
  readonly chatApiUrl?: string | undefined
  readonly passwordCost?: PasswordCost | undefined
}

export type Parts = Awaited<ReturnType<typeof createParts>>

/** Every service of the control plane, wired and watching the database. Nothing is left running after `stop`. */
export async function createParts(deps: PartsDeps) {
  const { config, log, keyring, db } = { ...deps, db: editableDb(deps) }
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const catalogue = createCatalogue()
  const { knownAction } = catalogue
  const { orgId, keys } = await prepareInstallation({ ...deps, knownAction })
  const identifyBot = createBotIdentity(createChatClient(deps).api)
  const base = { db, orgId, log, keyring, clock, knownAction, identifyBot, ...basicParts(deps) }
  const settings = createSettings(base)
  const isTokenRestricted = createTokenRestriction(db, config.approvals)
  const library = createSectionLibrary({
    ...base,
    organisationToken: {
      read: (q) => settings.read('codehost_pat', q),
      scope: organisationTokenScope(config),
    },
    ...{ approvalsChat: settings.approvalsChat, gatewayUrl: settings.gatewayUrl },
  })
  const signIn = await createSignIn({ ...base, config })
  const gateways = await createGatewayParts({ ...base, ...signIn, config, nowMs: clock.nowMs() })
  const hub = await createHub({ ...base, isOnlyReplica: config.isOnlyReplica, library, pods: gateways.pods })
  const onOpened = () => [sweeper, notify].map((part) => part.wake())
  const { onApprovalEnded: onEnded, ...v1 } = await createActionParts({
    ...{ ...base, keys, library, hub, settings, onOpened },
    enqueue: (q, notification) => notify.notifications.enqueue(q, notification),
  })
  const killSwitch = createKillSwitch({ ...base, hub, cancelStopped: v1.cancelStopped })
  const sweeper = createExpirySweeper({ ...base, onEnded })
  const retention = createRetention({ ...base, auditRetentionDays: config.auditRetentionDays })
  const daily = createDailyCleanup({ retention, log })
  const approvals = createApprovals({ ...base, ...answerParts(hub, gateways), onOpened, onEnded })
  const pages = createPageParts({ ...base, ...v1, hub, catalogue, members: gateways.members })
  const asked = { settings, approvals, tokenFor: v1.actions.tokenOf, vouchFor: signIn.vouchFor }
  const notify = await createNotify({ ...base, ...deps, ...asked })
  return {
    ...v1,
    ...pages,
    ...{ db, keys, read: base.read, origins: base.origins },
    settings,
    library,
    hub,
    killSwitch,
    approvals,
    notify,
    ...recordParts({ ...base, hub }),
    isTokenRestricted,
    commands: createCommands({ ...base, approvals, killSwitch, isTokenRestricted }),
    ...operatorParts({ ...base, ...gateways, db: deps.db, killSwitch, hub, library }),
    explain: createExplain({ library, kills: hub.kill.effective, clock }),
    ...callerParts(gateways),
    ...{ ...userParts({ ...base, config }), ...signIn },
    agents: createAgents(base),
    ...{ config: createConfig(base), floorRules: base.floorRules },
    setup: createSetup({ ...base, catalogueRows: catalogue.rows }),
    policies: createPolicies({ ...base, ...gateways }),
    ...{ traffic: createTraffic(base), unownedHosts: createUnownedHosts(base) },
    auditExport: createAuditExport(base),
    bundle: createBundle(base),
    retention,
    probe: createGatewayProbe({ ...base, gatewayUrl: () => settings.read('gateway_url') }),
    health: createHealth({ db, connected: hub.connected, gatewayUrl: () => settings.read('gateway_url') }),
    async stop() {
      for (const part of [daily, sweeper, pages.changes]) part[Symbol.dispose]()
      for (const part of [notify, v1.relay, hub, gateways]) await part[Symbol.asyncDispose]()
    },
  }
}

/** Manifests are applied on the database itself. */
function editableDb({ config, db }: PartsDeps): Db {
  return config.editing === 'yaml' ? createEditingGuard(db, new Set(config.platformNamespaces)) : db
}

function answerParts({ kill }: Hub, { clusterGroups, confirmAnswer }: GatewayParts) {
  return { announcedStops: kill.announced, clusterGroups, confirmAnswer }
}

/** What the server needs to identify callers. */
function callerParts({ identify, authority, readClientCa, breakGlass }: GatewayParts) {
  return { identify, authority, readClientCa, breakGlass }
}

function basicParts({ config, db, passwordCost }: Pick<PartsDeps, 'config' | 'db' | 'passwordCost'>) {
  const read: ScopedReads = (namespaces) => createScopedQuery(db, namespaces)
  const origins = (namespaces: Namespaces) => readOrigins(read(namespaces))
  const platformNamespaces = new Set(config.platformNamespaces)
  const floorRules = { floors: config.gatewayFloors, platformNamespaces }
  return { read, origins, passwords: createPasswords(passwordCost), platformNamespaces, floorRules }
}

type RecordDeps = Parameters<typeof createRecords>[0] & {
  readonly clock: Clock
  readonly hub: Hub
  readonly platformNamespaces: ReadonlySet<string>
}

/** The records of gateways, their quota, and the metrics of both. */
function recordParts(given: RecordDeps) {
  const ingestQuota = createIngestQuota({ nowMs: given.clock.monotonicMs })
  return {
    records: createRecords(given),
    ingestQuota,
    metrics: createControlPlaneMetrics({
      ...given,
      processes: () => connectedProcesses(given.hub),
      refusedBatches: ingestQuota.refused,
    }),
  }
}

function organisationTokenScope(config: ControlPlaneConfig): OrganisationTokenScope {
  if (config.kubeApi === null) return { kind: 'all' }
  return { kind: 'namespaces', namespaces: new Set(config.codehostPatNamespaces) }
}

type UserPartsDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly keyring: Keyring
  readonly passwords: Passwords
  readonly config: ControlPlaneConfig
}

/** Accounts, sessions and the keys of users. */
function userParts({ config, ...base }: UserPartsDeps) {
  const { registration } = config
  const devices = createSignInDevices(base.keyring)
  const ownerLinks = createOwnerLinks({ ...base, secret: ownerLinkSecret(config) })
  return {
    editing: config.editing,
    devices,
    ownerLinks,
    registration: createRegistration({ ...base, ownerLinks, registration, isLoopback: isOnlyHere(config) }),
    sessions: createSessions({ ...base, devices }),
    passwordChange: createPasswordChange(base),
    users: createUsers(base),
    approverKeys: createApproverKeys(base),
  }
}

function ownerLinkSecret({ kubeApi, ownerLinkSecret: place }: ControlPlaneConfig) {
  if (kubeApi === null || place === null) return null
  return createOwnerLinkSecret(createKubeClient(kubeApi), place, Date.now)
}

type OperatorPartsDeps = Omit<DesiredDeps, 'processes' | 'killSwitch'> & {
  readonly killSwitch: KillSwitch
  readonly hub: Pick<Hub, 'processes'>
  readonly library: Pick<SectionLibrary, 'version'>
  readonly pods: PodIdentities | null
}

/** What the operator talks to. */
function operatorParts(deps: OperatorPartsDeps) {
  const { db, hub, library, killSwitch, pods } = deps
  return {
    desired: createDesired({ ...deps, processes: hub.processes }),
    killRelay: createKillRelay({ killSwitch }),
    podReports: createPodReports(db),
    state: () => ({
      version: library.version ?? 0,
      processes: hub.processes(),
      refusedPods: pods?.refused() ?? [],
    }),
  }
}

function connectedProcesses({ connected, liveOf }: Pick<Hub, 'connected' | 'liveOf'>): number {
  return [...connected()].reduce((sum, id) => sum + (liveOf(id)?.processes ?? 0), 0)
}
