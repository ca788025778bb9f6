import type { InstallationProof } from './crypto/installation-proof.ts'
import type { Route } from './http/route.ts'
import type { Parts } from './parts.ts'
import { createApprovalRoutes } from './routes/approvals.ts'
import { createAuthRoutes } from './routes/auth.ts'
import { createAuthKeyRoutes } from './routes/auth-keys.ts'
import { createAuthOptionRoutes } from './routes/auth-options.ts'
import { createChallengeRoutes } from './routes/challenge.ts'
import { createChatRoutes } from './routes/chat.ts'
import { createAuditRoutes } from './routes/dash-audit.ts'
import { createBundleRoutes } from './routes/dash-bundle.ts'
import { createCatalogueRoutes } from './routes/dash-catalogue.ts'
import { createConfigRoutes } from './routes/dash-config.ts'
import { createConnectorRoutes } from './routes/dash-connectors.ts'
import { createDemoRoutes } from './routes/dash-demo.ts'
import { createDryRunRoutes } from './routes/dash-dry-run.ts'
import { createEffectiveRoutes } from './routes/dash-effective.ts'
import { createEventRoutes } from './routes/dash-events.ts'
import { createEvidenceRoutes } from './routes/dash-evidence.ts'
import { createOverviewRoutes } from './routes/dash-overview.ts'
import { createPeopleRoutes } from './routes/dash-people.ts'
import { createPolicyRoutes } from './routes/dash-policies.ts'
import { createPolicyDeskRoutes } from './routes/dash-policy-desk.ts'
import { createProbeRoutes } from './routes/dash-probe.ts'
import { createRecordRoute } from './routes/dash-record.ts'
import { createRecordRoutes } from './routes/dash-records.ts'
import { createSettingsRoutes } from './routes/dash-settings.ts'
import { createUnownedHostRoutes } from './routes/dash-unowned-hosts.ts'
import { createUserRoutes } from './routes/dash-users.ts'
import { createExplainRoutes } from './routes/explain.ts'
import { createGatewayRoutes } from './routes/gateways.ts'
import { createKillSwitchRoutes } from './routes/kill-switch.ts'
import { createMaintenanceRoutes } from './routes/maintenance.ts'
import { createNotificationRoutes } from './routes/notifications.ts'
import { createOidcRoutes } from './routes/oidc.ts'
import { createOpenApiRoutes } from './routes/openapi.ts'
import { createOperatorRoutes } from './routes/operator.ts'
import { createOpsRoutes } from './routes/ops.ts'
import { createPageRoutes } from './routes/pages.ts'
import { createTokenRoutes } from './routes/tokens.ts'
import { createActionRoutes } from './routes/v1-actions.ts'
import { createOrgRoutes } from './routes/v1-org.ts'
import { gatewayOfAgent } from './services/gateway-names.ts'
import { getGateway } from './store/gateways.ts'
import { findHandleOwners } from './store/provider-handles.ts'
import { lendSlots } from './store/rate-slots.ts'

/** Everything that is served. */
export function createRoutes(
  parts: Parts,
  web: {
    readonly isSecure: boolean
    readonly baseUrl: () => string
    readonly installationProof: InstallationProof | null
  },
): readonly Route[] {
  const { db, hub } = parts
  const routes: readonly Route[] = [
    ...createActionRoutes(parts),
    ...createOrgRoutes(parts),
    ...createTokenRoutes(parts),
    ...createAuthRoutes({ ...parts, ...web }),
    ...createAuthOptionRoutes(parts),
    ...createOidcRoutes({ ...parts, ...web }),
    ...createAuthKeyRoutes(parts),
    ...createPeopleRoutes(parts),
    ...createUserRoutes({ ...parts, baseUrl: web.baseUrl }),
    ...createConfigRoutes({ ...parts, liveOf: hub.liveOf }),
    ...createConnectorRoutes(parts),
    ...createPolicyRoutes(parts),
    ...createRecordRoutes(parts),
    ...createUnownedHostRoutes(parts),
    ...createRecordRoute(parts),
    ...createOverviewRoutes(parts),
    ...createEventRoutes(parts),
    ...createCatalogueRoutes({ catalogue: parts.catalogueReading }),
    ...createDryRunRoutes(parts),
    ...createPolicyDeskRoutes(parts),
    ...createEffectiveRoutes(parts),
    ...createEvidenceRoutes(parts),
    ...createSettingsRoutes(parts),
    ...createAuditRoutes(parts),
    ...createBundleRoutes(parts),
    ...createDemoRoutes(parts),
    ...createProbeRoutes(parts),
    ...createApprovalRoutes(parts),
    ...createChatRoutes(parts),
    ...createNotificationRoutes(parts),
    ...createKillSwitchRoutes(parts),
    ...createExplainRoutes({
      ...parts,
      gatewayFor: (namespaces, given) => gatewayOfAgent(parts.read(namespaces), given),
    }),
    ...createGatewayRoutes({
      ...parts,
      hub: { ...hub, settle: parts.relay.settle },
      ownProcesses: parts.identify.ownProcesses,
      lend: (borrower, asked) => lendSlots(db, borrower, asked),
      handleOwners: (asked) => findHandleOwners(db, asked),
      syncKeyOf: async (id) => (await getGateway(db, id))?.syncKey ?? undefined,
    }),
    ...createOperatorRoutes(parts),
    ...createOpsRoutes(parts),
    ...createChallengeRoutes(web),
    ...createMaintenanceRoutes(parts),
    ...createOpenApiRoutes({ routes: () => routes, baseUrl: web.baseUrl }),
    ...createPageRoutes(),
  ]
  return routes
}
