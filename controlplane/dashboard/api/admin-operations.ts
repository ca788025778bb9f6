import type {
  CreateAgentBody,
  CreateAgentReply,
  PatchAgentBody,
  PatchAgentReply,
} from '../../../core/wire/agents.ts'
import type { AuditQuery, AuditReply, EvidenceParams, EvidenceReply } from '../../../core/wire/audit.ts'
import type {
  AddConnectorBody,
  AddConnectorReply,
  ConnectorList,
  RemoveConnectorQuery,
} from '../../../core/wire/connectors.ts'
import type {
  ChangeCredentialReply,
  SetCredentialBody,
  TestCredentialBody,
  TestCredentialReply,
} from '../../../core/wire/credentials.ts'
import type { ImportReply } from '../../../core/wire/export.ts'
import type {
  ChannelBody,
  ChannelList,
  TestChannelBody,
  TestChannelReply,
} from '../../../core/wire/notifications/notification-channels.ts'
import type {
  NotificationList,
  NotificationsQuery,
  RetryNotificationBody,
} from '../../../core/wire/notifications/notifications.ts'
import type {
  EffectiveQuery,
  EffectiveReply,
  PermissionList,
  RemovePermissionQuery,
} from '../../../core/wire/permissions.ts'
import type {
  CreatePolicyBody,
  PatchPolicyBody,
  PolicyCheckBody,
  PolicyCheckReply,
  PolicyList,
  PolicyVersionsParams,
  PolicyVersionsReply,
  RemovePolicyQuery,
  ReplayBody,
  ReplayReply,
  SavedPolicy,
} from '../../../core/wire/policies.ts'
import type { Ok } from '../../../core/wire/schema/fields.ts'
import type { SettingsBody, SettingsReply, WebhookSecretReply } from '../../../core/wire/settings.ts'
import type { UserActionBody, UserActionReply } from '../../../core/wire/users.ts'
import type { Read, Write } from './operation.ts'

/** API operations of the administration pages. A test compares this list with `/api/openapi.json`. */
export type AdminOperations = {
  readonly 'GET /api/dashboard/policies': Read<PolicyList>
  readonly 'POST /api/dashboard/policies': Write<SavedPolicy, CreatePolicyBody>
  readonly 'PATCH /api/dashboard/policies': Write<SavedPolicy, PatchPolicyBody>
  readonly 'DELETE /api/dashboard/policies': Read<Ok, RemovePolicyQuery>
  readonly 'POST /api/dashboard/policies/check': Write<PolicyCheckReply, PolicyCheckBody>
  readonly 'POST /api/dashboard/policies/replay': Write<ReplayReply, ReplayBody>
  readonly 'GET /api/dashboard/policies/{policy_id}/versions': Read<
    PolicyVersionsReply,
    undefined,
    PolicyVersionsParams
  >
  readonly 'GET /api/dashboard/effective-permissions': Read<EffectiveReply, EffectiveQuery>
  readonly 'GET /api/dashboard/permissions': Read<PermissionList>
  readonly 'DELETE /api/dashboard/permissions': Read<Ok, RemovePermissionQuery>
  readonly 'GET /api/dashboard/connectors': Read<ConnectorList>
  readonly 'POST /api/dashboard/connectors': Write<AddConnectorReply, AddConnectorBody>
  readonly 'DELETE /api/dashboard/connectors': Read<Ok, RemoveConnectorQuery>
  readonly 'PUT /api/dashboard/credentials': Write<ChangeCredentialReply, SetCredentialBody>
  readonly 'POST /api/dashboard/credentials/test': Write<TestCredentialReply, TestCredentialBody>
  readonly 'POST /api/dashboard/agents': Write<CreateAgentReply, CreateAgentBody>
  readonly 'PATCH /api/dashboard/agents': Write<PatchAgentReply, PatchAgentBody>
  readonly 'POST /api/dashboard/users': Write<UserActionReply, UserActionBody>
  readonly 'GET /api/dashboard/settings': Read<SettingsReply>
  readonly 'PUT /api/dashboard/settings': Write<Ok, SettingsBody>
  readonly 'GET /api/dashboard/settings/webhook-secret': Read<WebhookSecretReply>
  readonly 'POST /api/dashboard/settings/webhook-secret': Write<
    WebhookSecretReply,
    Readonly<Record<string, never>>
  >
  readonly 'GET /api/dashboard/notifications': Read<NotificationList, NotificationsQuery>
  readonly 'POST /api/dashboard/notifications': Write<Ok, RetryNotificationBody>
  readonly 'GET /api/dashboard/notification-channels': Read<ChannelList>
  readonly 'PUT /api/dashboard/notification-channels': Write<Ok, ChannelBody>
  readonly 'POST /api/dashboard/notification-channels/test': Write<TestChannelReply, TestChannelBody>
  readonly 'GET /api/dashboard/audit': Read<AuditReply, AuditQuery>
  readonly 'GET /api/dashboard/evidence/{action_request_id}': Read<EvidenceReply, undefined, EvidenceParams>
  readonly 'POST /api/dashboard/import': Write<ImportReply, unknown>
}
