import type { ObjectOrigin } from '../../../core/wire/origin.ts'
import type { Role } from '../../../core/wire/rights.ts'
import type { Ok, RuleDecision } from './shapes.ts'

export type Source = 'kubernetes' | 'api' | 'file'
/** Where a row comes from; those of manifests are read-only here. */
export type Managed = {
  readonly source: Source
  readonly managed_by: string | null
  readonly origin: ObjectOrigin
}

export type PolicyTestResult = { readonly name: string; readonly passed: boolean; readonly failure?: string }
export type PolicyFields = {
  readonly name: string
  readonly description: string
  readonly policyYaml: string
  readonly enabled: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly mode: 'enforce' | 'monitor'
}
export type Policy = PolicyFields &
  Managed & {
    readonly id: string
    readonly version: number
    readonly active: boolean
    readonly active_version: number | null
    readonly tests: readonly PolicyTestResult[]
    readonly created_at: string
    readonly updated_at: string
  }
export type PolicyList = { readonly policies: readonly Policy[] }
export type SavedPolicy = Ok & {
  readonly policy_id: string
  readonly version: number
  readonly active: boolean
  readonly warnings: readonly string[]
}
export type Permission = Managed & {
  readonly id: string
  readonly gateway_name: string
  readonly agent: string
  readonly connector_type: string
  readonly action_pattern: string
  readonly warnings?: readonly string[]
  readonly decision: RuleDecision
  readonly reason: string | null
  readonly created_at: string
}
export type PermissionList = { readonly permissions: readonly Permission[] }
export type Connector = Managed & {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly domains: readonly string[]
  readonly auth_type: string
  readonly header: string | null
  readonly base_url: string | null
  readonly allow_private_addresses: boolean
  readonly allow_plaintext_credential: boolean
  /** For type mcp: the only paths on which JSON-RPC is read; null = every path. */
  readonly endpoint: readonly string[] | null
  /** `opaque`: requests are held although nobody can read their bodies. */
  readonly bodies: 'opaque' | null
  readonly warnings: readonly string[]
  readonly has_token: boolean
  /** Empty = every gateway. */
  readonly gateways: readonly string[]
  readonly created_at: string
}
export type ConnectorList = { readonly connectors: readonly Connector[] }
export type AgentKeyReply = Ok & { readonly api_key: string; readonly api_key_prefix: string }
export type Agent = Managed & {
  readonly agent_id: string
  readonly name: string
  readonly runtime: string
  readonly environment: string
  readonly status: 'active' | 'suspended' | 'revoked'
  readonly capabilities: readonly string[]
  readonly api_key_prefix: string | null
  readonly gateway: string | null
  readonly last_seen_at: string | null
  readonly created_at: string
}
export type User = {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly status: string
  readonly groups: readonly string[]
  readonly created_at: string
}
export type UserReply = Ok & { readonly invite_link?: string }
export type ApproverKey = {
  readonly id: string
  readonly name: string | null
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string
  readonly last_used_at: string | null
}
export type Notification = {
  readonly event_id: string
  readonly kind: string
  readonly event: string
  readonly subject_id: string
  readonly receiver: string
  readonly state: 'pending' | 'delivered' | 'dead' | 'obsolete'
  readonly attempts: number
  readonly next_attempt_at: string | null
  readonly last_error: string | null
  readonly last_status: number | null
  readonly created_at: string
}
export type NotificationList = { readonly notifications: readonly Notification[]; readonly total: number }
export type ImportReply = {
  readonly policies_imported: number
  readonly agents_imported: number
  readonly errors: ReadonlyArray<{ readonly kind: string; readonly name: string; readonly error: string }>
  readonly agent_keys: ReadonlyArray<{ readonly name: string; readonly api_key: string }>
  readonly policies_disabled: readonly string[]
}
