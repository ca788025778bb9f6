import * as z from 'zod'
import { ConnectorType } from '../crd/connector-fields.ts'
import { ConnectorCredential } from './credentials.ts'
import { ManagedFields } from './operator/origin.ts'
import { ConnectorFields, GatewayRef, Id, Limit, Ok, type QueryInput } from './schema/fields.ts'

/** Connector as the dashboard shows it, without its credential. */
export const ConnectorView = z.object({
  id: z.string(),
  name: z.string(),
  type: ConnectorType,
  domains: z.array(z.string()),
  auth_type: z.enum(['bearer', 'token', 'basic', 'header', 'none']),
  header: z.string().nullable(),
  base_url: z.string().nullable(),
  allow_private_addresses: z.boolean(),
  allow_plaintext_credential: z.boolean(),
  /** Paths that accept JSON-RPC, for the type `mcp`; null for all paths, and for other types. */
  endpoint: z.array(z.string()).nullable(),
  /** With `opaque`, the gateway can hold requests whose bodies it cannot read. Null if this setting is absent. */
  bodies: z.enum(['opaque']).nullable(),
  warnings: z.array(z.string()),
  has_token: z.boolean(),
  credential: ConnectorCredential,
  /**
   * State of the secret that the control plane mints or reads, and that gateways receive in place of the stored
   * credential. Null for a Connector whose stored credential itself is sent.
   */
  minted: z
    .object({
      kind: z.enum(['oauth2', 'githubApp', 'env', 'file', 'exec']),
      /**
       * Time at which the current secret was issued, or last read from its source; ISO 8601. Null if there is no
       * secret.
       */
      issued_at: z.string().nullable(),
      /**
       * Time at which the secret expires; null if there is no secret, or if the secret is valid until its source
       * changes.
       */
      expires_at: z.string().nullable(),
      /** Last failure of the source as full sentences, and its time; null after a success. */
      error: z.string().nullable(),
      failed_at: z.string().nullable(),
    })
    .nullable(),
  /** Names of the gateways that use the Connector; empty for all gateways. */
  gateways: z.array(z.string()),
  ...ManagedFields,
  created_at: z.string(),
})
export const ConnectorList = z.object({ connectors: z.array(ConnectorView) })
export const AddConnectorBody = z.strictObject({ ...ConnectorFields, gateway: GatewayRef.optional() })
export const AddConnectorReply = Ok.extend({
  id: z.string(),
  type: z.string(),
  domains: z.array(z.string()),
})
export const RemoveConnectorQuery = z.strictObject({ connector_id: Id })

const ConnectorKind = z.object({
  type: ConnectorType,
  /** Default hosts of the connector type; empty for a type whose Connectors must list their hosts. */
  domains: z.array(z.string()),
  auth: z.string(),
  /** Number of named actions in the catalogue of the type. */
  actions: z.int(),
})
export const ConnectorKindsReply = z.object({ connectors: z.array(ConnectorKind) })

export const ConnectorTypeParams = z.object({ type: ConnectorType })

export const NamedAction = z.object({
  type: z.string(),
  effect: z.enum(['read', 'compute', 'write']),
  risk: z.enum(['low', 'medium', 'high']),
  /** Effect classes of the action. Fields of a request can add others. Absent if there are none. */
  effects: z.array(z.string()).optional(),
})
export const ActionsReply = z.object({ type: ConnectorType, actions: z.array(NamedAction) })

/** Host that agents requested although no Connector of the gateway owns it. */
export const UnownedHost = z.object({
  host: z.string(),
  port: z.int(),
  gateway: z.string(),
  agents: z.array(z.string()),
  requests: z.number(),
  /** Time of the first request, ISO 8601. */
  first: z.string(),
  last: z.string(),
  /** Reason why a known agent program requests the host; null for other hosts. */
  known: z.string().nullable(),
  /**
   * Manifests that allow access to the host: a Connector, or egress lines for the Gateway. Either is sufficient.
   * `connector` is null if only the egress list of the Gateway can allow the host.
   */
  manifests: z.object({ connector: z.string().nullable(), egress: z.string() }),
})
export const UnownedHostsQuery = z.strictObject({ limit: Limit })
export const UnownedHostsReply = z.object({ hosts: z.array(UnownedHost) })

export type ConnectorTypeName = z.infer<typeof ConnectorType>
export type ConnectorView = z.infer<typeof ConnectorView>
export type ConnectorList = z.infer<typeof ConnectorList>
export type AddConnectorBody = z.input<typeof AddConnectorBody>
export type AddConnectorReply = z.infer<typeof AddConnectorReply>
export type RemoveConnectorQuery = z.input<typeof RemoveConnectorQuery>
export type ConnectorKindsReply = z.infer<typeof ConnectorKindsReply>
export type NamedAction = z.infer<typeof NamedAction>
export type ActionsReply = z.infer<typeof ActionsReply>
export type UnownedHost = z.infer<typeof UnownedHost>
export type UnownedHostsReply = z.infer<typeof UnownedHostsReply>
export type ConnectorTypeParams = { type: string }
export type UnownedHostsQuery = QueryInput<typeof UnownedHostsQuery>
