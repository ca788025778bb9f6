import * as z from 'zod'
import { isKnownPattern } from '../../action/effect-class.ts'
import {
  AuthSpec,
  CONNECTOR_FIELDS,
  ConnectorType,
  ErrorShape,
  TlsMode,
  UserRowSpec,
} from '../../crd/connector-fields.ts'
import { RuleDecisionSchema } from '../../crd/fields.ts'
import { EnforcementLevelSchema, GATEWAY_FIELDS, RefusalDetail } from '../../crd/gateway/gateway-fields.ts'
import { PolicyDocument } from '../../crd/policy/policy-document.ts'
import { tolerant } from '../schema/tolerant.ts'
import { HostedWorkReport } from './hosted-work.ts'
import { Instance } from './instance.ts'
import { ApprovalStatus } from './internal.ts'
import { KillAnnouncement, KillEntry, KillStateMessage, StateOrder } from './kill.ts'
import { MintedSecret, SecretDescription } from './minted-secret.ts'
import { POLICY_REACH } from './sections/policy-reach.ts'
import { sentFields } from './sections/sent-fields.ts'

/**
 * Paths of requests from gateways to the control plane. The control plane sends its messages in the NDJSON response of
 * `GET /api/gateway/stream`. The gateway sends small POST requests under `/api/gateway/`. All requests have
 * `Authorization: Bearer <gateway token>`, and `X-Process-Id` for the process.
 */
export const SYNC_PATHS = {
  stream: '/api/gateway/stream',
  /** `GET {sections}/{name}?hash=<sha256>` returns a section as JSON. The SHA-256 of the bytes is `hash`. */
  sections: '/api/gateway/sections',
  ack: '/api/gateway/ack',
  /** `POST {holds}/{apv_id}/spend` uses an approval for one request. */
  holds: '/api/gateway/holds',
  records: '/api/gateway/records',
  results: '/api/gateway/results',
  status: '/api/gateway/status',
  commands: '/api/gateway/commands',
  /** Path for quota leases of agents that several processes serve. */
  slots: '/api/gateway/slots',
  /** Path for the owners of handles: the agents that received the ids of provider resources. */
  handles: '/api/gateway/handles',
  /** Path for the replacement of a short-lived secret that an upstream refused with 401. */
  credentials: '/api/gateway/credentials',
  /** Path for tokens that are narrowed to the actions of one request. */
  narrowedTokens: '/api/gateway/narrowed-tokens',
  /** Path for a certificate for the key of a sidecar. The certificate is valid for a day. */
  certificate: '/api/gateway/certificate',
} as const

export const PROCESS_HEADER = 'x-process-id'

export const SectionParams = z.object({ name: z.string().max(64) })
export const SectionQuery = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex'),
})

// Schemas of the sections of a gateway's configuration.

/**
 * Entry of a section. Receivers ignore unknown fields, except those whose paths are in `critical` (see
 * `FieldAddition`). A receiver that does not support a critical field denies the scope of the entry.
 */
function sectionEntry<S extends z.ZodRawShape>(shape: S) {
  return tolerant(z.object({ ...shape, critical: z.array(z.string().max(300)).max(256).optional() }))
}

export const GatewaySection = sectionEntry({
  id: z.string(),
  /** Name of the Gateway, as `namespace/name`. */
  name: z.string(),
  environment: z.string().optional(),
  enforcementLevel: EnforcementLevelSchema,
  defaultDecision: RuleDecisionSchema,
  egress: GATEWAY_FIELDS.egress,
  rateLimit: GATEWAY_FIELDS.rateLimit,
  maxActionsPerRequest: GATEWAY_FIELDS.maxActionsPerRequest,
  approvals: GATEWAY_FIELDS.approvals,
  failurePolicy: GATEWAY_FIELDS.failurePolicy,
  audit: GATEWAY_FIELDS.audit,
  refusalDetail: RefusalDetail.optional(),
  /** True if a kill switch also cancels batches at providers. */
  cancelBatches: z.boolean().optional(),
})

export const AgentEntry = sectionEntry({
  id: z.string(),
  name: z.string(),
  runtime: z.string(),
  environment: z.string(),
  status: z.enum(['active', 'suspended', 'revoked']),
  /** Lower-case hex SHA-256 of the whole API key; null for agents that have none. */
  key_sha256: z.string().nullable(),
})

export const ConnectorEntry = sectionEntry({
  id: z.string(),
  name: z.string(),
  type: ConnectorType,
  domains: z.array(z.string()),
  ports: z.array(z.number().int()),
  auth: AuthSpec,
  /** Stored credential in plaintext. It is sent only over the authenticated connection, and kept only in memory. */
  secret: z.string().nullable(),
  /**
   * Reason, in full sentences, why the control plane does not send a stored credential. Absent if the control plane
   * sends the credential, or if none is stored.
   */
  withheld: z.string().optional(),
  /** Present if `secret` is short-lived. */
  minted: MintedSecret.optional(),
  /** Present if the control plane sends or mints a secret. */
  credential: SecretDescription.optional(),
  upstream: z.object({
    url: z.string().optional(),
    caBundle: z.string().optional(),
    allowPrivateAddresses: z.boolean(),
    /** True if the credential may be sent over plain HTTP. Absent if it may not. */
    allowPlaintextCredential: z.boolean().optional(),
  }),
  tlsMode: TlsMode,
  errorShape: ErrorShape,
  ...sentFields(CONNECTOR_FIELDS),
  actions: z.array(UserRowSpec),
  source: z.enum(['kubernetes', 'api', 'file']),
  managed_by: z.string().nullable(),
})

export const PermissionEntry = sectionEntry({
  id: z.string(),
  /** Agents of the permission: `*`, the name of an agent, or a prefix of names with `*`, such as `namespace/*`. */
  agent: z.string(),
  connector_type: z.string(),
  /** Pattern of action names, or `effect:CLASS`. A newer control plane may have other classes. */
  action_pattern: z.string().refine(isKnownPattern, 'an effect class that this version does not have'),
  decision: RuleDecisionSchema,
  reason: z.string().nullable(),
  source: z.enum(['kubernetes', 'api', 'file']),
  managed_by: z.string().nullable(),
  /** Name of the manifest that declares the permission, on a cluster `namespace/name`. Absent if the API created it. */
  manifest: z.string().max(600).optional(),
})

export const PolicyEntry = sectionEntry({
  id: z.string(),
  name: z.string(),
  version: z.number().int(),
  priority: z.number().int(),
  mode: z.enum(['enforce', 'monitor']),
  document: PolicyDocument.omit({ grants: true }),
  ...POLICY_REACH,
})

export const TokenKeyEntry = z.object({ kid: z.string(), jwk: z.record(z.string(), z.unknown()) })

// Messages from the control plane to a gateway.

export const VerdictMessage = z.object({
  id: z.string(),
  status: ApprovalStatus,
  by: z.string().nullable(),
  via: z.string().nullable(),
  at: z.string(),
  note: z.string().nullable(),
})

export const DownMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    /**
     * Protocol of the control plane. A receiver ignores those fields of a message that its own protocol does not have.
     */
    protocol: z.number(),
    /** Version of the control plane, such as `1.2.3`. */
    version: z.string().optional(),
    gateway: z.object({ id: z.string(), name: z.string() }),
    lease_ms: z.number(),
    at: z.string(),
  }),
  /**
   * Section index. `mac` is the hex HMAC-SHA256 over `sections\n<version>\n<name>=<hash>\n…`, with the names sorted
   * (see `sectionIndexMacText`).
   */
  z.object({
    type: z.literal('sections'),
    version: z.number().int(),
    sections: z.record(z.string(), z.string()),
    mac: z.string(),
    /**
     * Position of the replica's configuration in the order of states, at the time when the replica read the sections.
     * The position is that of the configuration `version` or a later one.
     */
    order: StateOrder.optional(),
  }),
  /** Complete kill state, so lost or repeated messages are harmless. The gateway acknowledges `seq`. */
  z.object({
    type: z.literal('kill'),
    seq: z.number().int(),
    effective: z.array(KillEntry),
    state: KillStateMessage.optional(),
  }),
  z.object({ type: z.literal('verdict'), verdict: VerdictMessage }),
  z.object({
    type: z.literal('execute'),
    order_id: z.string(),
    action_request_id: z.string(),
    agent: z.string(),
    action_spec: z.record(z.string(), z.unknown()),
    /** Approval of the action, for the record only. The gateway can hold the execution like any other request. */
    approval_id: z.string().nullish(),
    /**
     * Connector whose credential a user tests. `agent` is empty then, so that older gateways refuse to execute the
     * test.
     */
    credential_test: z.string().nullish(),
  }),
  /** Heartbeat that extends the lease. `mac` covers `beat\n<version>\n<until>`. */
  z.object({ type: z.literal('beat'), version: z.number().int(), until: z.string(), mac: z.string() }),
  /**
   * Number of processes, including the receiver, that serve each agent; `*` stands for all agents. The list is
   * complete.
   */
  z.object({
    type: z.literal('quota'),
    agents: z.array(z.object({ agent: z.string(), processes: z.number().int() })),
  }),
  /** Instance of the sidecar's pod. Sent again when a claim adopts the pod. */
  z.object({ type: z.literal('instance'), instance: Instance }),
  z.object({ type: z.literal('goaway'), after_ms: z.number() }),
])

// Bodies of requests from a gateway to the control plane.

export const AckBody = z.object({
  version: z.number().int().optional(),
  rejected: z.object({ version: z.number().int(), error: z.string() }).optional(),
  kill_seq: z.number().int().optional(),
  /**
   * Positions of the latest kill state and configuration in this gateway process. If the state of the receiving replica
   * is earlier, the replica reads the current state from the database.
   */
  kill_order: StateOrder.optional(),
  config_order: StateOrder.optional(),
  /**
   * Kill switches that other replicas announced to this process and may not have stored. The receiving replica stores
   * them.
   */
  announced: z.array(KillAnnouncement).max(1_000).optional(),
  /** Work that was cancelled at providers. Present in the acknowledgement of a kill switch. */
  hosted_work: HostedWorkReport.optional(),
  applied_at: z.string(),
})

export const ResultBody = z.object({
  order_id: z.string(),
  action_request_id: z.string(),
  ok: z.boolean(),
  status: z.number().int().nullable(),
  result: z.unknown(),
  error: z.string().nullable(),
})

export const StatusBody = z.object({
  url: z.string(),
  version: z.string(),
  applied_version: z.number().int().nullable(),
  agents: z.number().int(),
  uptime_seconds: z.number(),
  journal: z.object({ state: z.string(), pending: z.number().int(), bytes: z.number().int() }),
  /** Current error conditions of this process, as in a Gateway's status. A newer gateway may send unknown ones. */
  conditions: z.array(z.string().max(64)).max(8).optional(),
  /** Full sentences about probably unintended configuration that the traffic of this process revealed. */
  warnings: z.array(z.string().max(2_000)).max(64).optional(),
  hosted_work: HostedWorkReport.optional(),
})

export type GatewaySection = z.infer<typeof GatewaySection>
export type AgentEntry = z.infer<typeof AgentEntry>
export type ConnectorEntry = z.infer<typeof ConnectorEntry>
export type PermissionEntry = z.infer<typeof PermissionEntry>
export type PolicyEntry = z.infer<typeof PolicyEntry>
export type TokenKeyEntry = z.infer<typeof TokenKeyEntry>
export type VerdictMessage = z.infer<typeof VerdictMessage>
export type DownMessage = z.infer<typeof DownMessage>
export type AckBody = z.infer<typeof AckBody>
export type ResultBody = z.infer<typeof ResultBody>
export type StatusBody = z.infer<typeof StatusBody>
