import type {
  AuditReply,
  EffectiveReply,
  EvidenceReply,
  PolicyCheckReply,
  PolicyVersionsReply,
  ReplayReply,
} from '../../../core/wire/governance.ts'
import type {
  AgentKeyReply,
  ConnectorList,
  ImportReply,
  NotificationList,
  PermissionList,
  PolicyFields,
  PolicyList,
  SavedPolicy,
  UserReply,
} from './admin-shapes.ts'
import type { Ok } from './shapes.ts'

type Read<Reply, Query = undefined, Params = undefined> = {
  readonly reply: Reply
  readonly query: Query
  readonly params: Params
}
type Write<Reply, Body> = { readonly reply: Reply; readonly body: Body }
/** The query names the object to remove. */
type Removal<Query> = Read<Ok, Query>
type Text = string | undefined
type AuditFilter = {
  readonly event_type?: Text
  readonly q?: Text
  readonly from?: Text
  readonly to?: Text
  readonly agent_id?: Text
  readonly action_request_id?: Text
}

/** Operations of the administration pages. A test compares them with `/api/openapi.json`. */
export type AdminOperations = {
  readonly 'GET /api/dashboard/policies': Read<PolicyList>
  readonly 'POST /api/dashboard/policies': Write<
    SavedPolicy,
    Partial<PolicyFields> & { readonly name: string; readonly policyYaml: string }
  >
  readonly 'PATCH /api/dashboard/policies': Write<
    SavedPolicy,
    Partial<PolicyFields> & { readonly policy_id: string; readonly expected_version?: number }
  >
  readonly 'DELETE /api/dashboard/policies': Removal<{ readonly policy_id: string }>
  readonly 'POST /api/dashboard/policies/check': Write<
    PolicyCheckReply,
    Partial<PolicyFields> & { readonly policyYaml: string }
  >
  readonly 'POST /api/dashboard/policies/replay': Write<
    ReplayReply,
    {
      readonly policyYaml: string
      readonly policy_id?: string
      readonly enabled: boolean
      readonly priority: number
      readonly mode: string
      readonly limit: number
    }
  >
  readonly 'GET /api/dashboard/policies/{policy_id}/versions': Read<
    PolicyVersionsReply,
    undefined,
    { readonly policy_id: string }
  >
  readonly 'GET /api/dashboard/effective-permissions': Read<
    EffectiveReply,
    { readonly agent?: Text; readonly type?: Text }
  >
  readonly 'GET /api/dashboard/permissions': Read<PermissionList>
  readonly 'DELETE /api/dashboard/permissions': Removal<{ readonly permission_id: string }>
  readonly 'GET /api/dashboard/connectors': Read<ConnectorList>
  readonly 'POST /api/dashboard/connectors': Write<
    Ok & { readonly id: string },
    {
      readonly type: string
      readonly token: string
      readonly domains?: readonly string[]
      readonly auth_type?: string
      readonly header?: string
      readonly base_url?: string
      readonly allow_private_addresses?: boolean
      readonly allow_plaintext_credential?: boolean
      readonly endpoint?: readonly string[]
      readonly bodies?: 'opaque'
      readonly gateway?: string
    }
  >
  readonly 'DELETE /api/dashboard/connectors': Removal<{ readonly connector_id: string }>
  readonly 'POST /api/dashboard/agents': Write<
    AgentKeyReply,
    {
      readonly name: string
      readonly runtime: string
      readonly environment: string
      readonly gateway?: string
      readonly capabilities?: readonly string[]
    }
  >
  readonly 'PATCH /api/dashboard/agents': Write<
    Partial<AgentKeyReply>,
    {
      readonly agent_id: string
      readonly action?: string
      readonly environment?: string
      readonly runtime?: string
      readonly capabilities?: readonly string[]
    }
  >
  readonly 'POST /api/dashboard/users': Write<
    UserReply,
    {
      readonly action: string
      readonly user_id?: string
      readonly role?: string
      readonly email?: string
      readonly groups?: readonly string[]
    }
  >
  readonly 'GET /api/dashboard/settings': Read<{ readonly settings: Readonly<Record<string, string>> }>
  readonly 'PUT /api/dashboard/settings': Write<Ok, { readonly settings: Readonly<Record<string, string>> }>
  readonly 'GET /api/dashboard/settings/webhook-secret': Read<{ readonly webhook_secret: string }>
  readonly 'POST /api/dashboard/settings/webhook-secret': Write<
    { readonly webhook_secret: string },
    Readonly<Record<string, never>>
  >
  readonly 'GET /api/dashboard/notifications': Read<
    NotificationList,
    { readonly state?: Text; readonly limit?: number; readonly offset?: number }
  >
  readonly 'POST /api/dashboard/notifications': Write<
    Ok,
    { readonly event_id: string; readonly action: 'retry' }
  >
  readonly 'GET /api/dashboard/audit': Read<
    AuditReply,
    AuditFilter & { readonly limit?: number; readonly cursor?: Text }
  >
  readonly 'GET /api/dashboard/evidence/{action_request_id}': Read<
    EvidenceReply,
    undefined,
    { readonly action_request_id: string }
  >
  readonly 'POST /api/dashboard/import': Write<ImportReply, unknown>
}
