import type { Action } from '../../../core/action/action.ts'
import type { ConnectorType, EnforcementLevelSchema } from '../../../core/crd/schemas.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { Right, Role } from '../../../core/wire/rights.ts'
import type { DecisionView, DryRunReply } from '../../../core/wire/v1.ts'
import type { Agent, User } from './admin-shapes.ts'

type Infer<Schema extends { readonly _output: unknown }> = Schema['_output']

/** `yaml`: edits of Gateways, Connectors, Permissions and Policies are answered with the manifest to commit. */
export type Editing = 'rows' | 'yaml'
export type Ok = { readonly ok: true }
export type Me = {
  readonly user: {
    readonly id: string
    readonly email: string
    readonly role: Role
    readonly groups: readonly string[]
    /** `page_secret`: this page may only read, because it has lost the secret of its session. */
    readonly restriction: string | null
    /** Where the role counts; null or absent = everywhere. */
    readonly namespaces?: readonly string[] | null | undefined
    /** What the user may do, and where; null = everywhere. */
    readonly rights?: Readonly<Partial<Record<Right, readonly string[] | null>>> | undefined
  }
  readonly editing: Editing
}
/** How users sign in here. */
export type SignInOptions = {
  readonly password: boolean
  readonly identity_provider: { readonly name: string } | null
}
export type Answered = Ok & { readonly id: string; readonly status: string }
export type KillState = { readonly effective: readonly KillEntry[] }
export type KillReply = KillState & {
  readonly acknowledged: { readonly acked: number; readonly total: number; readonly ms: number }
  readonly warning?: string
}
export type Level = Infer<typeof EnforcementLevelSchema>
export type ConnectorTypeName = Infer<typeof ConnectorType>
export type DryRun = Infer<typeof DryRunReply>
export type DemoReply = Ok & {
  readonly scenario: string
  readonly action_request_id: string
  readonly decision: Infer<typeof DecisionView>
}
export type ExplainReply = {
  readonly text: string
  readonly connector: string | null
  readonly action: Action | null
  readonly decision: Decision
  readonly snapshot_version: number
}
export type ProbeReply = {
  readonly ok: boolean
  readonly status: string
  readonly connectors: readonly string[]
  readonly error?: string
}
export type TrafficQuery = {
  readonly agent?: string | undefined
  readonly connector?: string | undefined
  readonly decision?: string | undefined
  readonly action_type?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly q?: string | undefined
  readonly limit?: number
  readonly cursor?: string | undefined
}
export type AgentList = { readonly agents: readonly Agent[] }
export type UserList = { readonly users: readonly User[] }
export type AccessRule = 'allow_all' | 'read_only' | 'require_approval' | 'custom'
export type RuleDecision = 'allow' | 'deny' | 'require_approval'
export type SetupConnector = {
  readonly type: string
  readonly token: string
  readonly domains?: readonly string[]
  readonly header?: string
  readonly auth_type?: string
  readonly base_url?: string
  readonly allow_private_addresses?: boolean
  readonly allow_plaintext_credential?: boolean
  readonly endpoint?: readonly string[]
  readonly accessRule: AccessRule
  readonly customPatterns?: ReadonlyArray<{ readonly pattern: string; readonly decision: RuleDecision }>
}
export type WizardReply = Ok & {
  readonly gateway_id: string
  readonly gateway_name: string
  readonly api_key: string | null
  readonly gateway_token: string | null
}
