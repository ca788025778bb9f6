import type {
  AuthOptionsReply,
  ExchangeBody,
  LoginBody,
  MeReply,
  PasswordBody,
  PasswordReply,
  RedeemOwnerLinkBody,
  RegisterBody,
  RegisterReply,
  SessionReply,
  StartSignInBody,
  StartSignInReply,
} from '../../../core/wire/access/sessions.ts'
import type { AgentList } from '../../../core/wire/agents.ts'
import type {
  AnswerBody,
  AnswerReply,
  ApprovalList,
  ApprovalsQuery,
  WithdrawQuery,
  WithdrawReply,
} from '../../../core/wire/approvals.ts'
import type {
  ActionsReply,
  ConnectorKindsReply,
  ConnectorTypeParams,
  UnownedHostsQuery,
  UnownedHostsReply,
} from '../../../core/wire/connectors.ts'
import type { DryRunQuery, ExplainQuery, ExplainReply } from '../../../core/wire/explain.ts'
import type {
  ProbeQuery,
  ProbeReply,
  SetUpGatewayBody,
  SetUpGatewayReply,
} from '../../../core/wire/gateways.ts'
import type { GrantList, RevokeGrantQuery } from '../../../core/wire/grants.ts'
import type { KillSwitchBody, KillSwitchReply, KillSwitchState } from '../../../core/wire/kill-switch.ts'
import type { TestChannelReply } from '../../../core/wire/notifications/notification-channels.ts'
import type {
  PushSubscriptionBody,
  PushSubscriptionList,
  PushSubscriptionQuery,
  PushSubscriptionReply,
  TestPushBody,
} from '../../../core/wire/notifications/push-subscriptions.ts'
import type {
  ActivityQuery,
  ActivityReply,
  ChangesReply,
  DemoBody,
  DemoReply,
  OverviewReply,
} from '../../../core/wire/overview.ts'
import type { SetPermissionBody, SetPermissionReply } from '../../../core/wire/permissions.ts'
import type {
  ExceptionsParams,
  ExceptionsQuery,
  ExceptionsReply,
} from '../../../core/wire/policy-exceptions.ts'
import type { Ok } from '../../../core/wire/schema/fields.ts'
import type { RecordParams, RecordReply, TrafficQuery, TrafficReply } from '../../../core/wire/traffic.ts'
import type {
  ApproverKeyList,
  CreateKeyBody,
  CreateKeyReply,
  RevokeKeyQuery,
  UserList,
} from '../../../core/wire/users.ts'
import type { DryRunReply } from '../../../core/wire/v1.ts'
import type { AdminOperations } from './admin-operations.ts'
import type { Read, Write } from './operation.ts'

type Nothing = Readonly<Record<string, never>>

/**
 * Operations that pages call, by method and path as in `/api/openapi.json`. A test compares this list with that
 * document. An operation that a new page needs must be added here.
 */
export type Operations = AdminOperations & {
  readonly 'GET /api/auth/me': Read<MeReply>
  readonly 'GET /api/dashboard/events': Read<ChangesReply>
  readonly 'GET /api/dashboard/overview': Read<OverviewReply>
  readonly 'GET /api/dashboard/activity': Read<ActivityReply, ActivityQuery>
  readonly 'GET /api/dashboard/grants': Read<GrantList>
  readonly 'DELETE /api/dashboard/grants': Read<Ok, RevokeGrantQuery>
  readonly 'GET /api/dashboard/proxy-approvals': Read<ApprovalList, ApprovalsQuery>
  readonly 'GET /api/dashboard/push-subscriptions': Read<PushSubscriptionList>
  readonly 'DELETE /api/dashboard/push-subscriptions': Read<Ok, PushSubscriptionQuery>
  readonly 'POST /api/dashboard/push-subscriptions': Write<PushSubscriptionReply, PushSubscriptionBody>
  readonly 'POST /api/dashboard/push-subscriptions/test': Write<TestChannelReply, TestPushBody>
  readonly 'DELETE /api/dashboard/proxy-approvals': Read<WithdrawReply, WithdrawQuery>
  readonly 'GET /api/dashboard/proxy-approvals/{id}/exceptions': Read<
    ExceptionsReply,
    ExceptionsQuery,
    ExceptionsParams
  >
  readonly 'GET /api/dashboard/traffic': Read<TrafficReply, TrafficQuery>
  readonly 'GET /api/dashboard/unowned-hosts': Read<UnownedHostsReply, UnownedHostsQuery>
  readonly 'GET /api/dashboard/traffic/{record_id}': Read<RecordReply, undefined, RecordParams>
  readonly 'GET /api/dashboard/explain': Read<ExplainReply, ExplainQuery>
  readonly 'GET /api/dashboard/dry-run': Read<DryRunReply, DryRunQuery>
  readonly 'GET /api/dashboard/kill-switch': Read<KillSwitchState>
  readonly 'GET /api/dashboard/catalogue': Read<ConnectorKindsReply>
  readonly 'GET /api/dashboard/catalogue/{type}': Read<ActionsReply, undefined, ConnectorTypeParams>
  readonly 'GET /api/dashboard/agents': Read<AgentList>
  readonly 'GET /api/dashboard/users': Read<UserList>
  readonly 'GET /api/dashboard/test-gateway': Read<ProbeReply, ProbeQuery>
  readonly 'POST /api/auth/register': Write<RegisterReply, RegisterBody>
  readonly 'POST /api/auth/login': Write<SessionReply, LoginBody>
  readonly 'GET /api/auth/options': Read<AuthOptionsReply>
  readonly 'POST /api/auth/oidc/start': Write<StartSignInReply, StartSignInBody>
  readonly 'POST /api/auth/oidc/exchange': Write<SessionReply, ExchangeBody>
  readonly 'POST /api/auth/owner': Write<Ok, RedeemOwnerLinkBody>
  readonly 'POST /api/auth/password': Write<PasswordReply, PasswordBody>
  readonly 'GET /api/auth/keys': Read<ApproverKeyList>
  readonly 'POST /api/auth/keys': Write<CreateKeyReply, CreateKeyBody>
  readonly 'DELETE /api/auth/keys': Read<Ok, RevokeKeyQuery>
  readonly 'POST /api/auth/logout': Write<Ok, Nothing>
  readonly 'POST /api/dashboard/proxy-approvals': Write<AnswerReply, AnswerBody>
  readonly 'POST /api/dashboard/permissions': Write<SetPermissionReply, SetPermissionBody>
  readonly 'POST /api/dashboard/kill-switch': Write<KillSwitchReply, KillSwitchBody>
  readonly 'POST /api/dashboard/gateway': Write<SetUpGatewayReply, SetUpGatewayBody>
  readonly 'POST /api/dashboard/demo-action': Write<DemoReply, DemoBody>
}

export type OperationName = keyof Operations
export type ReadName = {
  [N in OperationName]: Operations[N] extends Read<unknown, unknown, unknown> ? N : never
}[OperationName]
export type ReplyOf<N extends OperationName> = Operations[N]['reply']

type Given<Key extends string, Value> = Value extends undefined
  ? { readonly [K in Key]?: undefined }
  : { readonly [K in Key]: Value }
/** Input of a call: the path parameters and the query of a read, or the body of a write. */
export type InputOf<N extends OperationName> = Operations[N] extends { query: infer Q; params: infer P }
  ? Given<'query', Q> & Given<'params', P>
  : Operations[N] extends { body: infer B }
    ? { readonly body: B }
    : never
