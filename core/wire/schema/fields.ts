import * as z from 'zod'
import { PermissionPatternSchema } from '../../crd/action-patterns.ts'
import { ConnectorType } from '../../crd/connector-fields.ts'
import { endpointPath, RuleDecisionSchema } from '../../crd/fields.ts'
import { LIMITS } from './limits.ts'
import { PlainName } from './plain-name.ts'

/**
 * Name of an agent. The name is also the user name in `Proxy-Authorization: Basic`, and a part of scopes and patterns.
 */
export const AgentName = z
  .string()
  .min(1)
  .max(253)
  .regex(
    // The control characters are listed, because some regular expression engines that validate the OpenAPI document do
    // not support `\p{Cc}`.
    /^[^\s:*]([^:*\u0000-\u001f\u007f-\u009f]*[^\s:*])?$/,
    'cannot contain `:`, `*` or control characters, or start or end with a space',
  )
/** Name of an agent that is created or renamed. Agents of older versions keep names that only match `AgentName`. */
export const NewAgentName = PlainName
export const GatewayName = PlainName
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
/** Name or id of a gateway. */
export const GatewayRef = z.string().min(1).max(253)
export const RoleSchema = z.enum(['owner', 'admin', 'member', 'viewer'])
export const Email = z.email('is not an e-mail address').max(320)
export const Ok = z.object({ ok: z.literal(true) })
export type Ok = z.infer<typeof Ok>

/**
 * URL without a user name or password, because every user who can read or export the configuration can read the URL.
 */
export const PlainUrl = z
  .url({ protocol: /^https?$/, error: 'is not a URL; give it with https:// or http://' })
  .max(2_000)
  .refine(isWithoutUser, 'contains a user name or password; use the field for the credential')

function isWithoutUser(text: string): boolean {
  if (!URL.canParse(text)) return true
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** ISO 8601 time in a query. PostgreSQL does not support the year 0. */
export const Moment = z.iso
  .datetime({ offset: true, error: 'is not a time with its zone, such as 2026-11-01T08:00:00Z' })
  .refine((text) => !text.startsWith('0000'), 'cannot have year 0')

/** Value of `limit` of a list, as text in a query string. */
export const Limit = z.coerce.number().pipe(z.int().min(1).max(LIMITS.listMax)).default(LIMITS.listDefault)

const EventType = z.string().min(1).max(100)
/** Query parameters that filter the audit log. `type` and `event_type` are synonyms. */
export const AuditFilterFields = {
  type: EventType.optional(),
  event_type: EventType.optional(),
  q: z.string().min(1).max(300).optional(),
  from: Moment.optional(),
  to: Moment.optional(),
  agent_id: Id.optional(),
  action_request_id: Id.optional(),
}

/** Name of a Connector in the API. It is a DNS label, so that it differs from names of manifests (`namespace/name`). */
const ConnectorName = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'can contain only lower-case letters, digits and -, and must begin and end with a letter or digit',
  )

export const ConnectorFields = {
  type: ConnectorType,
  /** Name of a new connector. Default: the type, with a number when the name is taken. */
  name: ConnectorName.optional(),
  token: z.string().min(1).max(65_536),
  domains: z.array(z.string().min(1).max(253)).max(64).optional(),
  auth_type: z.enum(['bearer', 'token', 'basic', 'header', 'none']).optional(),
  header: z.string().min(1).max(64).optional(),
  base_url: PlainUrl.optional(),
  /** True if the upstream may have a private or loopback address, for example a self-hosted instance. */
  allow_private_addresses: z.boolean().optional(),
  /** True if the credential may be sent to an upstream with a plain http URL. */
  allow_plaintext_credential: z.boolean().optional(),
  /** Paths that accept JSON-RPC, for the type `mcp`. */
  endpoint: z.array(endpointPath).min(1).max(16).optional(),
  /**
   * With `opaque`, the gateway can hold requests whose bodies it cannot read. The approval card then states that the
   * body was not read.
   */
  bodies: z.enum(['opaque']).optional(),
}

/** Connector that the gateway wizard or the quick setup creates. */
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

/** Input type of a query. A value that the schema converts from text may also have the parsed type. */
export type QueryInput<S extends z.ZodObject> = {
  [K in keyof z.input<S>]: unknown extends z.input<S>[K]
    ? z.output<S>[K & keyof z.output<S>] | undefined
    : z.input<S>[K]
}

/** The type with every property and list read-only. Senders of a reply use it. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? ReadonlyArray<DeepReadonly<Item>>
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T
