import type { TrafficRecord } from '../../../core/record.ts'
import type {
  ActionsReply,
  ActivityReply,
  ChangesReply,
  ConnectorKindsReply,
  OverviewReply,
  RecordReply,
} from '../../../core/wire/dashboard.ts'
import type { ApprovalCard } from '../../../core/wire/internal.ts'
import type { UnownedHostsReply } from '../../../core/wire/unowned-hosts.ts'
import type { AdminOperations } from './admin-operations.ts'
import type { ApproverKey } from './admin-shapes.ts'
import type {
  AgentList,
  Answered,
  DemoReply,
  DryRun,
  ExplainReply,
  KillReply,
  KillState,
  Me,
  Ok,
  ProbeReply,
  SetupConnector,
  SignInOptions,
  TrafficQuery,
  UserList,
  WizardReply,
} from './shapes.ts'

type Read<Reply, Query = undefined, Params = undefined> = {
  readonly reply: Reply
  readonly query: Query
  readonly params: Params
}
type Write<Reply, Body> = { readonly reply: Reply; readonly body: Body }
type Text = string | undefined

/**
 * Operations that pages call, by method and path as in `/api/openapi.json`. A test compares this list with that
 * document. A page that needs another operation adds it here.
 */
export type Operations = AdminOperations & {
  readonly 'GET /api/auth/me': Read<Me>
  readonly 'GET /api/dashboard/events': Read<ChangesReply>
  readonly 'GET /api/dashboard/overview': Read<OverviewReply>
  readonly 'GET /api/dashboard/activity': Read<
    ActivityReply,
    { readonly seconds: number; readonly to?: Text }
  >
  readonly 'GET /api/dashboard/proxy-approvals': Read<
    { readonly approvals: readonly ApprovalCard[]; readonly total: number },
    { readonly status?: Text; readonly limit?: number; readonly offset?: number }
  >
  readonly 'GET /api/dashboard/traffic': Read<
    { readonly traffic: readonly TrafficRecord[]; readonly next_cursor: string | null },
    TrafficQuery
  >
  readonly 'GET /api/dashboard/unowned-hosts': Read<UnownedHostsReply, { readonly limit?: number }>
  readonly 'GET /api/dashboard/traffic/{record_id}': Read<
    RecordReply,
    undefined,
    { readonly record_id: string }
  >
  readonly 'GET /api/dashboard/explain': Read<
    ExplainReply,
    { readonly method: string; readonly url: string; readonly agent: string; readonly gateway?: Text }
  >
  readonly 'GET /api/dashboard/dry-run': Read<
    DryRun,
    { readonly agent: string; readonly action_spec: string }
  >
  readonly 'GET /api/dashboard/kill-switch': Read<KillState>
  readonly 'GET /api/dashboard/catalogue': Read<ConnectorKindsReply>
  readonly 'GET /api/dashboard/catalogue/{type}': Read<ActionsReply, undefined, { readonly type: string }>
  readonly 'GET /api/dashboard/agents': Read<AgentList>
  readonly 'GET /api/dashboard/users': Read<UserList>
  readonly 'GET /api/dashboard/test-gateway': Read<ProbeReply, { readonly url?: Text }>
  readonly 'POST /api/auth/register': Write<Ok, Readonly<Record<string, string>>>
  readonly 'POST /api/auth/login': Write<Ok, { readonly email: string; readonly password: string }>
  readonly 'GET /api/auth/options': Read<SignInOptions>
  readonly 'POST /api/auth/oidc/start': Write<Ok & { readonly url: string }, { readonly challenge: string }>
  readonly 'POST /api/auth/oidc/exchange': Write<Ok, { readonly code: string; readonly secret: string }>
  readonly 'POST /api/auth/owner': Write<Ok, { readonly setup_token: string }>
  readonly 'POST /api/auth/password': Write<
    Ok,
    { readonly current_password: string; readonly new_password: string }
  >
  readonly 'GET /api/auth/keys': Read<{ readonly keys: readonly ApproverKey[] }>
  readonly 'POST /api/auth/keys': Write<
    Ok & { readonly id: string; readonly api_key: string; readonly expires_at: string },
    { readonly name?: string; readonly expires_in_days: number }
  >
  readonly 'DELETE /api/auth/keys': Read<Ok, { readonly id: string }>
  readonly 'POST /api/auth/logout': Write<Ok, Readonly<Record<string, never>>>
  readonly 'POST /api/dashboard/proxy-approvals': Write<
    Answered,
    { readonly id: string; readonly approved: boolean; readonly note?: string }
  >
  readonly 'POST /api/dashboard/permissions': Write<
    Ok & { readonly id: string },
    {
      readonly gateway_name: string
      readonly connector_type: string
      readonly action_pattern: string
      readonly decision: string
      readonly agent?: string
    }
  >
  readonly 'POST /api/dashboard/kill-switch': Write<
    KillReply,
    { readonly active: boolean; readonly scope: string; readonly reason?: string }
  >
  readonly 'POST /api/dashboard/gateway': Write<
    WizardReply,
    {
      readonly gateway: {
        readonly name: string
        readonly host?: string
        readonly port?: number
        readonly enforcementLevel?: string
      }
      readonly agent?: { readonly name: string; readonly create: boolean }
      readonly connectors: readonly SetupConnector[]
    }
  >
  readonly 'POST /api/dashboard/demo-action': Write<DemoReply, { readonly scenario: 0 | 1 | 2 }>
}

export type OperationName = keyof Operations
export type ReadName = {
  [N in OperationName]: Operations[N] extends Read<unknown, unknown, unknown> ? N : never
}[OperationName]
export type ReplyOf<N extends OperationName> = Operations[N]['reply']

type Given<Key extends string, Value> = Value extends undefined
  ? { readonly [K in Key]?: undefined }
  : { readonly [K in Key]: Value }
/** Input of a call: path parameters and query of a read, the body of a write. */
export type InputOf<N extends OperationName> = Operations[N] extends { query: infer Q; params: infer P }
  ? Given<'query', Q> & Given<'params', P>
  : Operations[N] extends { body: infer B }
    ? { readonly body: B }
    : never
