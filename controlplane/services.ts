import type { Logger } from 'pino'
import { createCatalogue } from '../core/connectors/catalogue.ts'
import type { Namespaces } from '../core/wire/access/rights.ts'
import { createActionServices } from './action-services.ts'
import { createCallerServices } from './caller-services.ts'
import type { ControlPlaneConfig } from './config.ts'
import { createCredentialServices } from './credential-services.ts'
import type { RotatingKeyring } from './crypto/keyring.ts'
import { createPasswords, type PasswordCost } from './crypto/password.ts'
import type { Db } from './db/query.ts'
import { createScopedQuery, type ScopedReads } from './db/scoped-query.ts'
import { heldExecutions } from './features/actions/executions/held.ts'
import { createAgents } from './features/agents/service.ts'
import { ExpirySweeper } from './features/approvals/expiry/service.ts'
import { createTokenRestriction } from './features/approvals/mode.ts'
import { createApprovals } from './features/approvals/service.ts'
import { createAuditExport } from './features/audit/export/service.ts'
import { createKubeClient } from './features/authentication/cluster/kube-client.ts'
import { createBotIdentity } from './features/chat/bot/identity.ts'
import { createCommands } from './features/commands/service.ts'
import { createUnownedHosts } from './features/connectors/unowned-hosts.ts'
import { createCredentials } from './features/credentials/service.ts'
import { createBundle } from './features/export/bundle.ts'
import { createGatewayProbe } from './features/gateways/probe.ts'
import { createKillRelay } from './features/kill-switch/relay.ts'
import { createKillSwitch } from './features/kill-switch/service.ts'
import { createHealth } from './features/maintenance/health.ts'
import { createControlPlaneMetrics } from './features/maintenance/metrics.ts'
import { createEditingGuard } from './features/manifests/editing/editing-guard.ts'
import { readOrigins } from './features/manifests/object-origins.ts'
import { createManifests } from './features/manifests/service.ts'
import type { ReadKeys } from './features/master-key/service.ts'
import type { EmailOptions } from './features/notifications/channels/email.ts'
import type { PushOptions } from './features/notifications/push/sender.ts'
import { createSignIn } from './features/oidc/service.ts'
import { createExplain } from './features/permissions/explain.ts'
import { createPodReports } from './features/pods/service.ts'
import { createPolicies } from './features/policies/service.ts'
import { createSignInDevices } from './features/sessions/devices.ts'
import { createSessions } from './features/sessions/service.ts'
import { createConfig } from './features/settings/configuration.ts'
import { prepareInstallation } from './features/settings/installation.ts'
import { createSettings } from './features/settings/service.ts'
import { createSetup } from './features/settings/setup.ts'
import { createTraffic } from './features/traffic/service.ts'
import { createApproverKeys } from './features/users/approver-keys/service.ts'
import { createOwnerLinkSecret } from './features/users/owner-links/secret.ts'
import { createOwnerLinks } from './features/users/owner-links/service.ts'
import { createPasswordChange } from './features/users/password-change.ts'
import { createRegistration } from './features/users/registration.ts'
import { createUsers } from './features/users/service.ts'
import { isLoopbackOnly } from './http/auth/loopback-only.ts'
import { createChatClient, createNotify } from './notification-services.ts'
import { createPageServices } from './page-services.ts'
import { createRecordServices } from './record-services.ts'
import { createHub } from './sync/hub.ts'
import { createFailingCredentials } from './sync/sections/failing-credentials.ts'
import { createSectionLibrary } from './sync/sections/library.ts'
import type { OrganisationTokenScope } from './sync/sections/organisation-token.ts'

export type ServicesDeps = {
  readonly config: ControlPlaneConfig
  readonly db: Db
  readonly log: Logger
  readonly keyring: RotatingKeyring
  readonly readKeys: ReadKeys
  readonly localGatewayToken: string | null
  /** Address of the chat provider's web API; default: the public address. */
  readonly chatApiUrl?: string | undefined
  readonly smtp?: EmailOptions | undefined
  readonly push?: PushOptions | undefined
  readonly passwordCost?: PasswordCost | undefined
  /** Returns the certificate (PEM) that the server presents; null without TLS. */
  readonly serverCertificate: () => string | null
}

export type Services = Awaited<ReturnType<typeof createServices>>

/** Creates every service of the control plane and watches the database. `stop` ends all background work. */
export async function createServices(deps: ServicesDeps) {
  const { config, log, keyring } = deps
  const db = editableDb(deps)
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const catalogue = createCatalogue()
  const { knownAction } = catalogue
  const { orgId, keys } = await prepareInstallation({ ...deps, knownAction })
  const read: ScopedReads = (namespaces) => createScopedQuery(db, namespaces)
  const origins = (namespaces: Namespaces) => readOrigins(read(namespaces))
  const passwords = createPasswords(deps.passwordCost)
  const platformNamespaces = new Set(config.platformNamespaces)
  const floorRules = { floors: config.gatewayFloors, platformNamespaces }
  const identifyBot = createBotIdentity(createChatClient(deps).api)
  const base = {
    db,
    orgId,
    log,
    keyring,
    clock,
    knownAction,
    identifyBot,
    read,
    origins,
    passwords,
    platformNamespaces,
    floorRules,
  }
  const settings = createSettings(base)
  const gatewayUrl = () => settings.read('gateway_url')
  const isTokenRestricted = createTokenRestriction(db, config.approvals)

  // Services that authenticate callers: users, agents, gateways, pods and the operator.
  const signIn = await createSignIn({ ...base, config })
  const callers = await createCallerServices({ ...base, ...signIn, config, nowMs: clock.nowMs() })
  const devices = createSignInDevices(keyring)
  const ownerLinks = createOwnerLinks({ ...base, secret: ownerLinkSecret(config) })

  // Services that distribute the configuration and the kill state to gateways at all replicas.
  const library = createSectionLibrary({
    ...base,
    organisationToken: {
      read: (q) => settings.read('codehost_pat', q),
      scope: organisationTokenScope(config),
    },
    approvalsChat: settings.approvalsChat,
    gatewayUrl: settings.gatewayUrl,
  })
  const hub = await createHub({ ...base, isOnlyReplica: config.isOnlyReplica, library, pods: callers.pods })

  // Services of actions, approvals and kill switches. When an approval is opened, the sweeper of expired approvals
  // and the delivery of notifications are woken.
  const onOpened = () => {
    sweeper.wake()
    notify.wake()
  }
  const { onApprovalEnded: onEnded, ...v1 } = await createActionServices({
    ...base,
    keys,
    library,
    hub,
    settings,
    onOpened,
    enqueue: (q, notification) => notify.notifications.enqueue(q, notification),
  })
  const sweeper = new ExpirySweeper({ ...base, onEnded })
  const killSwitch = createKillSwitch({ ...base, hub, cancelKilled: v1.cancelKilled })
  const approvals = createApprovals({
    ...base,
    announcedKills: hub.kill.announced,
    executions: heldExecutions,
    cancelAction: v1.cancelAction,
    clusterGroups: callers.clusterGroups,
    confirmAnswer: callers.confirmAnswer,
    onOpened,
    onEnded,
  })
  const notify = await createNotify({
    ...base,
    config,
    db: deps.db,
    chatApiUrl: deps.chatApiUrl,
    smtp: deps.smtp,
    push: deps.push,
    settings,
    approvals,
    tokenFor: v1.actions.tokenOf,
    confirmAccess: signIn.confirmAccess,
  })

  const { recordExport, daily, rollup, ...recordServices } = await createRecordServices({ ...base, config })
  const pages = createPageServices({
    ...base,
    ...v1,
    hub,
    catalogue,
    members: callers.members,
    deliveryWarnings: async () => [...(await notify.channels.warnings()), ...(await recordExport.warnings())],
  })
  const failingCredentials = createFailingCredentials()
  const state = () => ({ version: library.version ?? 0, processes: hub.processes() })
  const manifests = createManifests({
    ...base,
    members: callers.members,
    db: deps.db,
    killSwitch,
    processes: hub.processes,
    localSources: config.localSources,
  })
  const { keyRotation, refresher, narrowedTokens } = await createCredentialServices({ ...base, ...deps })
  return {
    ...v1,
    ...pages,
    ...signIn,
    db,
    keys,
    read,
    origins,
    floorRules,
    settings,
    library,
    hub,
    killSwitch,
    approvals,
    notify,
    isTokenRestricted,
    identify: { ...callers.identify, admitStream: () => hub.admission.admit() },
    gatewayCa: callers.gatewayCa,
    readClientCa: callers.readClientCa,
    breakGlass: callers.breakGlass,
    editing: config.editing,
    command: config.command,
    devices,
    ownerLinks,
    registration: createRegistration({
      ...base,
      ownerLinks,
      registration: config.registration,
      isLoopback: isLoopbackOnly(config),
    }),
    sessions: createSessions({ ...base, devices }),
    passwordChange: createPasswordChange(base),
    users: createUsers(base),
    approverKeys: createApproverKeys(base),
    agents: createAgents(base),
    config: createConfig(base),
    setup: createSetup({ ...base, catalogueRows: catalogue.rows }),
    policies: createPolicies({ ...base, members: callers.members }),
    explain: createExplain({ library, kills: hub.kill.effective, clock }),
    commands: createCommands({ ...base, approvals, killSwitch, isTokenRestricted }),
    manifests,
    credentials: createCredentials({
      ...base,
      manifests,
      relay: v1.relay,
      isCluster: config.kubeApi !== null,
    }),
    killRelay: createKillRelay({ killSwitch }),
    podReports: createPodReports(deps.db),
    state: () => ({
      ...state(),
      refusedPods: callers.pods?.refused() ?? [],
      failingCredentials: failingCredentials(library.configuration),
    }),
    stateChanges: hub.changes,
    ...recordServices,
    narrowedTokens,
    traffic: createTraffic(base),
    unownedHosts: createUnownedHosts(base),
    auditExport: createAuditExport(base),
    bundle: createBundle(base),
    probe: createGatewayProbe({ ...base, gatewayUrl }),
    health: createHealth({ db, connected: hub.connected, gatewayUrl }),
    metrics: createControlPlaneMetrics({
      ...base,
      state,
      kills: () => hub.kill.effective().length,
      certificate: deps.serverCertificate,
      refusedBatches: recordServices.ingestQuota.refused,
      channels: notify.channels.list,
      narrowedTokens: narrowedTokens.counts,
    }),
    async stop() {
      for (const service of [daily, sweeper, pages.changes]) service[Symbol.dispose]()
      for (const service of [
        refresher,
        notify,
        recordExport,
        rollup,
        v1.upkeep,
        v1.relay,
        hub,
        callers,
        keyRotation,
      ])
        await service[Symbol.asyncDispose]()
    },
  }
}

/**
 * Returns the database for edits by users. With `DASHBOARD_EDITING=yaml`, it rolls back edits of objects that
 * manifests define. Services that apply manifests use the database without this restriction (`deps.db`).
 */
function editableDb({ config, db }: ServicesDeps): Db {
  return config.editing === 'yaml' ? createEditingGuard(db, new Set(config.platformNamespaces)) : db
}

function organisationTokenScope(config: ControlPlaneConfig): OrganisationTokenScope {
  if (config.kubeApi === null) return { kind: 'all' }
  return { kind: 'namespaces', namespaces: new Set(config.codehostPatNamespaces) }
}

function ownerLinkSecret({ kubeApi, ownerLinkSecret: place }: ControlPlaneConfig) {
  if (kubeApi === null || place === null) return null
  return createOwnerLinkSecret(createKubeClient(kubeApi), place, Date.now)
}
