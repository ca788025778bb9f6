import * as z from 'zod'
import { PermissionPatternSchema } from '../../core/crd/action-patterns.ts'
import { endpointPath } from '../../core/crd/fields.ts'
import { ConnectorType, RuleDecisionSchema } from '../../core/crd/schemas.ts'
import { LIMITS } from '../../core/wire/limits.ts'

/** Names of agents: they are the user name of `Proxy-Authorization: Basic`, and parts of scopes and patterns. */
export const AgentName = z
  .string()
  .min(1)
  .max(253)
  .regex(
    // Written out instead of `\p{Cc}`, so that readers of the OpenAPI document understand it whatever their language.
    /^[^\s:*]([^:*\u0000-\u001f\u007f-\u009f]*[^\s:*])?$/,
    'has no `:`, `*` or control characters, and no blank at either end',
  )
export const GatewayName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9 ._/-]*[A-Za-z0-9])?$/, 'has letters, digits, blanks and . _ / - only')
export const Environment = z.string().min(1).max(64)
export const Runtime = z.string().max(128)
export const Capabilities = z.array(z.string().min(1).max(128)).max(64)
export const Metadata = z.record(z.string(), z.unknown())
export const PolicyName = z.string().min(1).max(253)
export const PolicyText = z
  .string()
  .min(1)
  .max(256 * 1024)
export const Id = z.string().min(1).max(100)
export const RoleSchema = z.enum(['owner', 'admin', 'member', 'viewer'])
export const Email = z.email('is no e-mail address').max(320)
export const Ok = z.object({ ok: z.literal(true) })

/** Shown to whoever may see the configuration, and exported: a credential has a field of its own. */
export const PlainUrl = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine(
    isWithoutUser,
    'has a user name or password in it: leave it out, a credential has a field of its own',
  )

function isWithoutUser(text: string): boolean {
  if (!URL.canParse(text)) return true
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** A moment in a query. PostgreSQL has no year 0. */
export const Moment = z.iso
  .datetime({ offset: true })
  .refine((text) => !text.startsWith('0000'), 'has no year 0')

/** `limit` of a list, as it stands in a query. */
export const Limit = z.coerce.number().pipe(z.int().min(1).max(LIMITS.listMax)).default(LIMITS.listDefault)

const EventType = z.string().min(1).max(100)
/** What the audit log is searched by. `type` and `event_type` are the same. */
export const AuditFilterFields = {
  type: EventType.optional(),
  event_type: EventType.optional(),
  q: z.string().min(1).max(300).optional(),
  from: Moment.optional(),
  to: Moment.optional(),
  agent_id: Id.optional(),
  action_request_id: Id.optional(),
}

export const ConnectorFields = {
  type: ConnectorType,
  token: z.string().min(1).max(65_536),
  domains: z.array(z.string().min(1).max(253)).max(64).optional(),
  auth_type: z.enum(['bearer', 'token', 'basic', 'header', 'none']).optional(),
  header: z.string().min(1).max(64).optional(),
  base_url: PlainUrl.optional(),
  /** The upstream may have a private or loopback address, as a self-hosted instance has. */
  allow_private_addresses: z.boolean().optional(),
  /** The credential may be sent to an upstream whose address is plain http. */
  allow_plaintext_credential: z.boolean().optional(),
  /** For type mcp: the only paths on which JSON-RPC is read. */
  endpoint: z.array(endpointPath).min(1).max(16).optional(),
  /** Requests are held although nobody can read their bodies, and the card says so. */
  bodies: z.enum(['opaque']).optional(),
}

/** A connector of the wizard or the quick setup. */
export const SetupConnectorSchema = z
  .strictObject({
    ...ConnectorFields,
    accessRule: z.enum(['allow_all', 'read_only', 'require_approval', 'custom']),
    customPatterns: z
      .array(z.strictObject({ pattern: PermissionPatternSchema, decision: RuleDecisionSchema }))
      .max(256)
      .optional(),
  })
  .refine((connector) => connector.accessRule !== 'custom' || (connector.customPatterns?.length ?? 0) > 0, {
    path: ['customPatterns'],
    message: 'is required with accessRule custom',
  })
