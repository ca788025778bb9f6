import type { Logger } from 'pino'
import { createCatalogue } from '../core/connectors/catalogue.ts'
import type { Clock } from '../core/state/clock.ts'
import type { Namespaces } from '../core/wire/access/rights.ts'
import { createActionServices } from './action-services.ts'
import { type CallerServices, createCallerServices } from './caller-services.ts'
import type { ControlPlaneConfig } from './config.ts'
import type { Keyring } from './crypto/keyring.ts'
import { createPasswords, type PasswordCost, type Passwords } from './crypto/password.ts'
import type { Db } from './db/query.ts'
import { createScopedQuery, type ScopedReads } from './db/scoped-query.ts'
import { createAgents } from './features/agents/service.ts'
import { createExpirySweeper } from './features/approvals/expiry.ts'
import { createTokenRestriction } from './features/approvals/mode.ts'
import { createApprovals } from './features/approvals/service.ts'
import { createAuditExport } from './features/audit/export.ts'
import { createKubeClient } from './features/authentication/cluster/kube-client.ts'
import { createBotIdentity } from './features/chat/bot-identity.ts'
import { createCommands } from './features/commands/service.ts'
import { createUnownedHosts } from './features/connectors/unowned-hosts.ts'
import { createExplain } from './features/explain/service.ts'
import { createBundle } from './features/export/bundle.ts'
import { createGatewayProbe } from './features/gateways/probe.ts'
import { createControlPlaneMetrics } from './features/health/metrics.ts'
import { createHealth } from './features/health/service.ts'
import { createKillRelay } from './features/kill-switch/relay.ts'
import { createKillSwitch, type KillSwitch } from './features/kill-switch/service.ts'
import { createDailyCleanup } from './features/maintenance/daily-cleanup.ts'
import { createRetention } from './features/maintenance/retention.ts'
import { createEditingGuard } from './features/manifests/editing-guard.ts'
import { readOrigins } from './features/manifests/object-origins.ts'
import { createDesired, type DesiredDeps } from './features/manifests/service.ts'
import { createChatClient, createNotify } from './features/notifications/notify.ts'
import { createSignIn } from './features/oidc/service.ts'
import { createPodReports, type PodIdentities } from './features/pods/service.ts'
import { createPolicies } from './features/policies/service.ts'
import { createSignInDevices } from './features/sessions/devices.ts'
import { createSessions } from './features/sessions/service.ts'
import { createConfig } from './features/settings/configuration.ts'
import { prepareInstallation } from './features/settings/installation.ts'
import { createSettings } from './features/settings/service.ts'
import { createSetup } from './features/settings/setup.ts'
import { createRecords } from './features/traffic/ingest.ts'
import { createIngestQuota } from './features/traffic/ingest-quota.ts'
import { createTraffic } from './features/traffic/service.ts'
import { createApproverKeys } from './features/users/approver-keys.ts'
import { createOwnerLinkSecret } from './features/users/owner-link-secret.ts'
import { createOwnerLinks } from './features/users/owner-links.ts'
import { createPasswordChange } from './features/users/password-change.ts'
import { createRegistration } from './features/users/registration.ts'
import { createUsers } from './features/users/service.ts'
import { isLoopbackOnly } from './http/auth/loopback-only.ts'
import { createPageServices } from './page-services.ts'
import { createHub, type Hub } from './sync/hub.ts'
import { createSectionLibrary, type SectionLibrary } from './sync/sections/library.ts'
import type { OrganisationTokenScope } from './sync/sections/organisation-token.ts'

export type ServicesDeps = {
  readonly config: ControlPlaneConfig
  readonly db: Db
  readonly log: Logger
  readonly keyring: Keyring
  readonly localGatewayToken: string | null
  /** Web API of the chat provider; default: the public one. */
  readonly chatApiUrl?: string | undefined
  readonly passwordCost?: PasswordCost | undefined
}

export type Services = Awaited<ReturnType<typeof createServices>>

/** Composes every service of the control plane and watches the database. `stop` ends all background work. */
export async function createServices(deps: ServicesDeps) {
  const { config, log, keyring, db } = { ...deps, db: editableDb(deps) }
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const catalogue = createCatalogue()
  const { knownAction } = catalogue
  const { orgId, keys } = await prepareInstallation({ ...deps, knownAction })
  const identifyBot = createBotIdentity(createChatClient(deps).api)
  const base = { db, orgId, log, keyring, clock, knownAction, identifyBot, ...basicServices(deps) }
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
  const gateways = await createCallerServices({ ...base, ...signIn, config, nowMs: clock.nowMs() })
  const hub = await createHub({ ...base, isOnlyReplica: config.isOnlyReplica, library, pods: gateways.pods })
  const onOpened = () => [sweeper, notify].map((service) => service.wake())
  const { onApprovalEnded: onEnded, ...v1 } = await createActionServices({
    ...{ ...base, keys, library, hub, settings, onOpened },
    enqueue: (q, notification) => notify.notifications.enqueue(q, notification),
  })
  const killSwitch = createKillSwitch({ ...base, hub, cancelStopped: v1.cancelStopped })
  const sweeper = createExpirySweeper({ ...base, onEnded })
  const retention = createRetention({ ...base, auditRetentionDays: config.auditRetentionDays })
  const daily = createDailyCleanup({ retention, log })
  const approvals = createApprovals({ ...base, ...answerServices(hub, gateways), onOpened, onEnded })
  const pages = createPageServices({ ...base, ...v1, hub, catalogue, members: gateways.members })
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
    ...recordServices({ ...base, hub }),
    isTokenRestricted,
    commands: createCommands({ ...base, approvals, killSwitch, isTokenRestricted }),
    ...operatorServices({ ...base, ...gateways, db: deps.db, killSwitch, hub, library }),
    explain: createExplain({ library, kills: hub.kill.effective, clock }),
    ...callerServices(gateways),
    ...{ ...userServices({ ...base, config }), ...signIn },
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
      for (const service of [daily, sweeper, pages.changes]) service[Symbol.dispose]()
      for (const service of [notify, v1.relay, hub, gateways]) await service[Symbol.asyncDispose]()
    },
  }
}

/** Returns the database for edits by users, which are guarded. Manifests are applied on the unguarded database. */
function editableDb({ config, db }: ServicesDeps): Db {
  return config.editing === 'yaml' ? createEditingGuard(db, new Set(config.platformNamespaces)) : db
}

function answerServices({ kill }: Hub, { clusterGroups, confirmAnswer }: CallerServices) {
  return { announcedStops: kill.announced, clusterGroups, confirmAnswer }
}

/** Selects the services with which the server identifies callers. */
function callerServices({ identify, authority, readClientCa, breakGlass }: CallerServices) {
  return { identify, authority, readClientCa, breakGlass }
}

function basicServices({ config, db, passwordCost }: Pick<ServicesDeps, 'config' | 'db' | 'passwordCost'>) {
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

/** Composes the records of gateways, their ingest quota, and the metrics of both. */
function recordServices(given: RecordDeps) {
  const ingestQuota = createIngestQuota({ nowMs: given.clock.monotonicMs })
  return {
    records: createRecords(given),
    ingestQuota,
    metrics: createControlPlaneMetrics({
      ...given,
      processes: () => connectedProcesses(given.hub),
      versions: () => given.hub.processes().map(({ version }) => version),
      refusedBatches: ingestQuota.refused,
    }),
  }
}

function organisationTokenScope(config: ControlPlaneConfig): OrganisationTokenScope {
  if (config.kubeApi === null) return { kind: 'all' }
  return { kind: 'namespaces', namespaces: new Set(config.codehostPatNamespaces) }
}

type UserServicesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly keyring: Keyring
  readonly passwords: Passwords
  readonly config: ControlPlaneConfig
}

/** Composes accounts, sessions and approver keys. */
function userServices({ config, ...base }: UserServicesDeps) {
  const { registration } = config
  const devices = createSignInDevices(base.keyring)
  const ownerLinks = createOwnerLinks({ ...base, secret: ownerLinkSecret(config) })
  return {
    editing: config.editing,
    devices,
    ownerLinks,
    registration: createRegistration({
      ...base,
      ownerLinks,
      registration,
      isLoopback: isLoopbackOnly(config),
    }),
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

type OperatorServicesDeps = Omit<DesiredDeps, 'processes' | 'killSwitch'> & {
  readonly killSwitch: KillSwitch
  readonly hub: Pick<Hub, 'processes'>
  readonly library: Pick<SectionLibrary, 'version'>
  readonly pods: PodIdentities | null
}

/** Composes the services behind the operator's API. */
function operatorServices(deps: OperatorServicesDeps) {
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
