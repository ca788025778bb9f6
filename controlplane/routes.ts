import type { InstallationProof } from './crypto/installation-proof.ts'
import { createActionRoutes } from './features/actions/routes.ts'
import { createTokenRoutes } from './features/actions/tokens/routes.ts'
import { createOrgRoutes } from './features/agents/organisation-routes.ts'
import { createAgentRoutes } from './features/agents/routes.ts'
import { createApprovalRoutes } from './features/approvals/routes.ts'
import { createApprovalV1Routes } from './features/approvals/v1-routes.ts'
import { createEvidenceRoutes } from './features/audit/evidence/routes.ts'
import { createAuditRoutes } from './features/audit/routes.ts'
import { createChatRoutes } from './features/chat/routes.ts'
import { createCatalogueRoutes } from './features/connectors/catalogue-routes.ts'
import { createConnectorRoutes } from './features/connectors/routes.ts'
import { createUnownedHostRoutes } from './features/connectors/unowned-host-routes.ts'
import { createCredentialRoutes } from './features/credentials/routes.ts'
import { createBundleRoutes } from './features/export/routes.ts'
import { gatewayOfAgent } from './features/gateways/names.ts'
import { createProbeRoutes } from './features/gateways/probe-routes.ts'
import { findHandleOwners } from './features/gateways/processes/handle-store.ts'
import { leaseSlots } from './features/gateways/processes/quota-lease-store.ts'
import { createGatewayRoutes } from './features/gateways/processes/routes.ts'
import { getGateway } from './features/gateways/rows.ts'
import { createKillSwitchRoutes } from './features/kill-switch/routes.ts'
import { createOpsRoutes } from './features/maintenance/health-routes.ts'
import { createMaintenanceRoutes } from './features/maintenance/routes.ts'
import { createOperatorRoutes } from './features/manifests/routes.ts'
import { createNotificationRoutes } from './features/notifications/routes.ts'
import { createOidcRoutes } from './features/oidc/routes.ts'
import { createEventRoutes } from './features/overview/change-routes.ts'
import { createDemoRoutes } from './features/overview/demo-routes.ts'
import { createOverviewRoutes } from './features/overview/routes.ts'
import { createDryRunRoutes } from './features/permissions/dry-run-routes.ts'
import { createExplainRoutes } from './features/permissions/explain-routes.ts'
import { createEffectiveRoutes } from './features/permissions/routes.ts'
import { createPolicyAuthoringRoutes } from './features/policies/authoring-routes.ts'
import { createPolicyRoutes } from './features/policies/routes.ts'
import { createPolicyV1Routes } from './features/policies/v1-routes.ts'
import { createChallengeRoutes } from './features/sessions/challenge-routes.ts'
import { createAuthOptionRoutes } from './features/sessions/option-routes.ts'
import { createAuthRoutes } from './features/sessions/routes.ts'
import { createConfigRoutes } from './features/settings/configuration-routes.ts'
import { createSettingsRoutes } from './features/settings/routes.ts'
import { createRecordRoute } from './features/traffic/record-routes.ts'
import { createRecordRoutes } from './features/traffic/routes.ts'
import { createAuthKeyRoutes } from './features/users/approver-keys/routes.ts'
import { createUserRoutes } from './features/users/routes.ts'
import { createOpenApiRoutes } from './http/openapi-route.ts'
import { createPageRoutes } from './http/page-routes.ts'
import type { Route } from './http/route.ts'
import type { Services } from './services.ts'

/** Returns every route of the control plane. */
export function createRoutes(
  services: Services,
  web: {
    readonly isSecure: boolean
    readonly baseUrl: () => string
    readonly installationProof: InstallationProof | null
  },
): readonly Route[] {
  const { db, hub } = services
  const routes: readonly Route[] = [
    ...createActionRoutes(services),
    ...createOrgRoutes(services),
    ...createPolicyV1Routes(services),
    ...createApprovalV1Routes(services),
    ...createTokenRoutes(services),
    ...createAuthRoutes({ ...services, ...web }),
    ...createAuthOptionRoutes(services),
    ...createOidcRoutes({ ...services, ...web }),
    ...createAuthKeyRoutes(services),
    ...createAgentRoutes(services),
    ...createUserRoutes({ ...services, baseUrl: web.baseUrl }),
    ...createConfigRoutes({ ...services, liveOf: hub.liveOf }),
    ...createConnectorRoutes(services),
    ...createCredentialRoutes(services),
    ...createPolicyRoutes(services),
    ...createRecordRoutes(services),
    ...createUnownedHostRoutes(services),
    ...createRecordRoute(services),
    ...createOverviewRoutes(services),
    ...createEventRoutes(services),
    ...createCatalogueRoutes({ catalogue: services.catalogueReading }),
    ...createDryRunRoutes(services),
    ...createPolicyAuthoringRoutes(services),
    ...createEffectiveRoutes(services),
    ...createEvidenceRoutes(services),
    ...createSettingsRoutes(services),
    ...createAuditRoutes(services),
    ...createBundleRoutes(services),
    ...createDemoRoutes(services),
    ...createProbeRoutes(services),
    ...createApprovalRoutes(services),
    ...createChatRoutes(services),
    ...createNotificationRoutes(services),
    ...createKillSwitchRoutes(services),
    ...createExplainRoutes({
      ...services,
      gatewayFor: (namespaces, given) => gatewayOfAgent(services.read(namespaces), given),
    }),
    ...createGatewayRoutes({
      ...services,
      hub: { ...hub, settle: (result, processId) => services.relay.settle(result, processId) },
      ownProcesses: services.identify.ownProcesses,
      leaseSlots: (borrower, asked) => leaseSlots(db, borrower, asked),
      handleOwners: (asked) => findHandleOwners(db, asked),
      syncKeyOf: async (id) => (await getGateway(db, id))?.syncKey ?? undefined,
    }),
    ...createOperatorRoutes(services),
    ...createOpsRoutes(services),
    ...createChallengeRoutes(web),
    ...createMaintenanceRoutes(services),
    ...createOpenApiRoutes({ routes: () => routes, baseUrl: web.baseUrl }),
    ...createPageRoutes(),
  ]
  return routes
}
