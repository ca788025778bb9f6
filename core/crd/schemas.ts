import * as z from 'zod'
import { EFFECT_CLASSES } from '../action/effect-class.ts'
import { REACHING_KINDS } from '../connectors/provider-side/kinds.ts'
import { CONNECTOR_TYPES } from '../connectors/registry.ts'
import { LIMITS } from '../wire/limits.ts'
import { PermissionPatternSchema } from './action-patterns.ts'
import {
  AllowedNamespaces,
  dns1123,
  endpointPath,
  GatewayRefs,
  host,
  hostAndPort,
  httpUrl,
  Resources,
  RuleDecisionSchema,
} from './fields.ts'
import { KillScope } from './kill-scopes.ts'
import { PolicySpec } from './policy/policy-spec.ts'
import { CONNECTOR_RULES, GATEWAY_RULES, PERMISSION_RULES, POLICY_RULES } from './rules.ts'
import { withRules } from './spec-rules.ts'

/**
 * The four custom resources of `chaperone.dev/v1alpha1`. The manifests folder, the operator, the control plane and the
 * generated `crds/` use these schemas. Unknown fields are errors that name the field.
 */
export const ConnectorType = z.enum(CONNECTOR_TYPES)
export const EnforcementLevelSchema = z.enum(['monitor', 'enforce_high_risk', 'full_enforce'])

export const GatewaySpec = z.strictObject({
  enforcementLevel: EnforcementLevelSchema.default('full_enforce'),
  defaultDecision: RuleDecisionSchema.default('deny'),
  interception: z.enum(['transparent', 'proxyEnv']).default('transparent'),
  egress: z
    .strictObject({
      unmatchedHosts: z.enum(['deny', 'tunnel']).default('deny'),
      /** Hosts that agents may reach without a Connector, on port 443 or that of the entry (`example.com:8443`). */
      allowedHosts: z.array(hostAndPort).max(256).default([]),
      tcp: z
        .array(
          z.strictObject({
            host,
            port: z.int().min(1).max(65535),
            /** True: names may resolve to private addresses, for example a database in the same cluster. */
            allowPrivateAddresses: z.boolean().default(false),
          }),
        )
        .max(64)
        .default([]),
    })
    .prefault({}),
  rateLimit: z.strictObject({ requestsPerMinute: z.int().min(1).max(1_000_000).default(120) }).prefault({}),
  /** Maximum number of actions in one request, such as the calls of an MCP batch. More are refused with 413. */
  maxActionsPerRequest: z.int().min(1).max(1_024).default(LIMITS.actionsPerRequest),
  approvals: z
    .strictObject({
      timeoutSeconds: z.int().min(5).max(86_400).default(300),
      maxPendingPerAgent: z.int().min(1).max(1_000).default(20),
    })
    .prefault({}),
  failurePolicy: z
    .strictObject({
      highRiskAfterSeconds: z.int().min(0).max(86_400).default(30),
      writesAfterSeconds: z.int().min(0).max(86_400).default(120),
      everythingAfterSeconds: z.int().min(0).max(86_400).default(600),
    })
    .prefault({}),
  /**
   * When the intent record of a request counts as stored, which precedes forwarding. `async`: in the page cache
   * (survives a crash of the gateway process). `sync`: on the disk (survives a power loss).
   */
  audit: z.enum(['async', 'sync']).default('async'),
  killSwitch: z
    .strictObject({
      active: z.boolean().default(false),
      reason: z.string().max(1_000).optional(),
      /** Connectors and agents of the Gateway that the kill switch covers. Default: the whole Gateway. */
      scopes: z.array(KillScope).min(1).max(64).optional(),
      /** True: also cancels the agents' batches at model providers. A cancelled batch cannot be resumed. */
      cancelBatches: z.boolean().optional(),
    })
    .optional(),
  allowedNamespaces: AllowedNamespaces.optional(),
  hardening: z.enum(['standard', 'strict']).default('standard'),
  /** Further certificate authorities (PEM) that governed pods trust, from a Secret of the pod's namespace. */
  trust: z
    .strictObject({
      extraSecretRef: z
        .strictObject({ name: dns1123, key: z.string().min(1).max(253).default('ca.crt') })
        .optional(),
    })
    .optional(),
  sidecar: z.strictObject({ resources: Resources.optional() }).optional(),
  agents: z.strictObject({ allowServiceAccountToken: z.boolean().default(false) }).optional(),
})

const headerName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'a header name such as X-API-Key')

export const AuthSpec = z.strictObject({
  type: z.enum(['bearer', 'token', 'basic', 'header', 'none']),
  /** Name of the header that carries the credential, for `type: header`. */
  header: headerName.optional(),
  username: z.string().max(256).optional(),
})

const Bodies = z.enum(['readable', 'opaque'])

export const UserRowSpec = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().min(1).max(500).regex(/^\//, 'a path template such as /v1/things/{id}'),
  action: z
    .string()
    .max(300)
    .regex(/^[a-z0-9_]+(\.[A-Za-z0-9_~-]+)+$/, 'connector.resource.verb'),
  effect: z.enum(['read', 'compute', 'write']),
  risk: z.enum(['low', 'medium', 'high']),
  /** Effect classes of the action, for conditions on `action.effects` and permissions such as `effect:merge`. */
  effects: z.array(z.enum(EFFECT_CLASSES)).max(EFFECT_CLASSES.length).optional(),
  /**
   * `opaque`: bodies are files, so a request can be held although the gateway cannot read its body. Default: as the
   * Connector.
   */
  bodies: Bodies.optional(),
})

export const HandleRuleSpec = z.enum(['own', 'shared', 'strict'])

export const ProviderToolsSpec = z.strictObject({
  allow: z.array(z.enum(REACHING_KINDS)).max(REACHING_KINDS.length).default([]),
})

export const ConnectorSpec = z.strictObject({
  type: ConnectorType,
  /** Gateways that may use the Connector and its credential. Default: all Gateways of its namespace. */
  gatewayRefs: GatewayRefs.optional(),
  domains: z.array(host).max(64).optional(),
  baseUrl: httpUrl.optional(),
  ports: z.array(z.int().min(1).max(65535)).max(16).default([443]),
  auth: AuthSpec.optional(),
  credential: z
    .strictObject({
      secretRef: z.strictObject({ name: dns1123, key: z.string().min(1).max(253).default('token') }),
    })
    .optional(),
  upstream: z
    .strictObject({
      url: httpUrl.optional(),
      caBundle: z.string().max(200_000).optional(),
      allowPrivateAddresses: z.boolean().default(false),
      /** True: the credential may be sent to a plain http `url`. */
      allowPlaintextCredential: z.boolean().default(false),
    })
    .prefault({}),
  tls: z.strictObject({ mode: z.enum(['intercept', 'passthrough']).default('intercept') }).prefault({}),
  errorShape: z.enum(['service', 'provider']).default('service'),
  /** For type mcp: the only paths that accept JSON-RPC; other paths are unmapped. */
  endpoint: z.array(endpointPath).min(1).max(16).optional(),
  /** For type mcp: `filterTools` removes tools that the agent may not call from responses to `tools/list`. */
  mcp: z.strictObject({ filterTools: z.boolean().default(false) }).optional(),
  /** True: the credential is also masked in response bodies of text. It is always masked in response headers. */
  scrubResponses: z.boolean().default(false),
  /**
   * `opaque`: bodies are files or have another format. A request can be held although the gateway cannot read its body,
   * and the approval card states that. Bodies are opaque where the Connector or the row of the request says so.
   */
  bodies: Bodies.default('readable'),
  /**
   * For type llm_a. True: `/v1/responses` accepts a WebSocket, and every message on it is decided as a request. False:
   * the gateway answers the upgrade with 426.
   */
  webSocketMessages: z.boolean().default(false),
  /** For types llm_a, llm_b and llm_c: hosts and tools that the provider may use for a request. Default: none. */
  providerTools: ProviderToolsSpec.optional(),
  /**
   * For types llm_a, llm_b, llm_c and mcp: whether an agent may use sessions, responses, files, threads and batches
   * that the provider gave to another agent. `own` (default): no. `strict`: neither those nor unknown ones. `shared`:
   * yes.
   */
  handles: HandleRuleSpec.optional(),
  /** Headers such as `Impersonate-User` that let a request act as another user. All others are refused. */
  impersonationHeaders: z.array(headerName).max(32).default([]),
  /** Query parameters with the name of a credential (`token`) that select a resource: they are forwarded. */
  keepQuery: z.array(z.string().min(1).max(64)).max(32).default([]),
  /** `send`: the gateway adds the approved state to the approved request, if the API accepts it (`sha` of a merge). */
  pins: z.enum(['compare', 'send']).default('compare'),
  environment: z.string().min(1).max(64).optional(),
  actions: z.array(UserRowSpec).max(512).default([]),
})

export const PermissionSpec = z.strictObject({
  gatewayRefs: GatewayRefs,
  agents: z.array(z.string().min(1).max(253)).min(1).max(64).default(['*']),
  rules: z
    .array(
      z.strictObject({
        connectorType: ConnectorType,
        /** Action name, prefix of action names and `*`, or `effect:` and an effect class. */
        actionPattern: PermissionPatternSchema,
        decision: RuleDecisionSchema,
        reason: z.string().max(500).optional(),
      }),
    )
    .min(1)
    .max(256),
})

const metadata = z.looseObject({
  name: dns1123,
  namespace: dns1123.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})

export const API_VERSION = 'chaperone.dev/v1alpha1'
const resource = <K extends string, S extends z.ZodType>(kind: K, spec: S) =>
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata,
    spec,
    status: z.unknown().optional(),
  })

/** Manifest of a Gateway. `withRules` adds the rules over several fields, which `crds/` contains as CEL. */
export const GatewayResource = resource('Gateway', withRules(GatewaySpec, GATEWAY_RULES))
export const ConnectorResource = resource('Connector', withRules(ConnectorSpec, CONNECTOR_RULES))
export const PermissionResource = resource('Permission', withRules(PermissionSpec, PERMISSION_RULES))
export const PolicyResource = resource('Policy', withRules(PolicySpec, POLICY_RULES))
/** Secret for Connectors. A manifests folder uses only `stringData`; the operator of a cluster reads `data`. */
export const SecretResource = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata,
  stringData: z.record(z.string(), z.string()).default({}),
})

/** A manifest as the operator sends it to the control plane, which checks the rules over several fields itself. */
export const ManifestResource = z.discriminatedUnion('kind', [
  resource('Gateway', GatewaySpec),
  resource('Connector', ConnectorSpec),
  resource('Permission', PermissionSpec),
  PolicyResource,
  SecretResource,
])

export type GatewaySpec = z.infer<typeof GatewaySpec>
export type ConnectorSpec = z.infer<typeof ConnectorSpec>
export type PermissionSpec = z.infer<typeof PermissionSpec>
export type ManifestResource = z.infer<typeof ManifestResource>
export type ResourceKind = 'Gateway' | 'Connector' | 'Permission' | 'Policy'
