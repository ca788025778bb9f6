import * as z from 'zod'
import { MAX_GRANT_USES } from '../wire/grants.ts'
import { PermissionPatternSchema } from './action-patterns.ts'
import { ConnectorType } from './connector-fields.ts'
import { ConnectorSpec } from './connector-spec.ts'
import { described } from './described.ts'
import { dns1123, GatewayRefs, RuleDecisionSchema } from './fields.ts'
import { GatewaySpec } from './gateway/gateway-spec.ts'
import { PolicySpec } from './policy/policy-spec.ts'
import { CONNECTOR_RULES, GATEWAY_RULES, PERMISSION_RULES, POLICY_RULES } from './rules.ts'
import { withRules } from './spec-rules.ts'

/**
 * Form of an agent of a Permission: `*`, a name, or a prefix of names that ends with a hyphen or with the slash of a
 * namespace, followed by `*`.
 */
export const AGENT_PATTERN = /^(\*|[^*]+|[^*]+[-/]\*)$/

const AgentPattern = z
  .string()
  .min(1)
  .max(253)
  .regex(AGENT_PATTERN, 'must be a name, `*`, or a prefix of names that ends with `-*`, such as `runner-*`')

const PermissionRule = z.strictObject({
  connectorType: described(ConnectorType, 'Connector type of the actions.', 'codehost'),
  actionPattern: described(
    PermissionPatternSchema,
    'Action name, prefix of action names with `*` at the end, or `effect:` and an effect class. Exact names take precedence over prefixes, and longer prefixes over shorter ones.',
    'codehost.issue.*',
  ),
  decision: described(RuleDecisionSchema, 'Decision for these actions.', 'allow'),
  reason: described(
    z.string().max(500).optional(),
    'Reason that refusals, cards and records show.',
    'Agents may triage issues',
  ),
})

export const PermissionSpec = z.strictObject({
  gatewayRefs: described(GatewayRefs, 'Gateways at which the rules are in force.', [{ name: 'default' }]),
  agents: described(
    z.array(AgentPattern).min(1).max(64).default(['*']),
    'Names of agents, in a cluster `namespace/name`. The agent of a sandbox has the name of its SandboxTemplate. A name with `-*` at the end covers every agent whose name begins so, and `*` covers every agent. A rule for one agent takes precedence over a rule for a prefix, which takes precedence over a rule for every agent.',
    ['team-a/release-bot'],
  ),
  rules: described(
    z.array(PermissionRule).min(1).max(256),
    'Decisions by action. The most specific pattern wins. An action that no pattern matches gets the default decision of the Gateway.',
    [{ connectorType: 'codehost', actionPattern: 'codehost.issue.*', decision: 'allow' }],
  ),
  expiresAt: described(
    z
      .string()
      .max(64)
      .regex(
        /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/,
        'a time such as 2030-01-31T12:00:00Z',
      )
      .optional(),
    'Time at which the Permission ends. Chaperone sets the field in a Permission that it creates for a grant (an approval of later requests); in any other Permission, the field has no effect.',
    '2030-01-31T12:00:00Z',
  ),
  maxUses: described(
    z.int().min(1).max(MAX_GRANT_USES).optional(),
    'Number of requests that the Permission allows. Chaperone sets the field in a Permission that it creates for a grant (an approval of later requests); in any other Permission, the field has no effect.',
    10,
  ),
})

const metadata = z.looseObject({
  name: dns1123,
  namespace: dns1123.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
})

/**
 * API version of the four custom resources. The manifests folder, the operator, the control plane and the generated
 * `crds/` use the schemas of this file. An unknown field is an error that names the field.
 */
export const API_VERSION = 'chaperone.dev/v1alpha1'
const resource = <K extends string, S extends z.ZodType>(kind: K, spec: S) =>
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata,
    spec,
    status: z.unknown().optional(),
  })

/** Schema of a Gateway manifest. `withRules` adds the rules over several fields, which `crds/` contains as CEL. */
export const GatewayResource = resource('Gateway', withRules(GatewaySpec, GATEWAY_RULES))
export const ConnectorResource = resource('Connector', withRules(ConnectorSpec, CONNECTOR_RULES))
export const PermissionResource = resource('Permission', withRules(PermissionSpec, PERMISSION_RULES))
export const PolicyResource = resource('Policy', withRules(PolicySpec, POLICY_RULES))
/**
 * Schema of a Secret for Connectors. The watcher of a manifests folder supports only `stringData`. The operator of a
 * cluster reads `data`.
 */
export const SecretResource = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata,
  stringData: z.record(z.string(), z.string()).default({}),
})

/**
 * Schema of a manifest as the operator sends it to the control plane. The schema omits the rules over several fields,
 * because the control plane checks these rules itself.
 */
export const ManifestResource = z.discriminatedUnion('kind', [
  resource('Gateway', GatewaySpec),
  resource('Connector', ConnectorSpec),
  resource('Permission', PermissionSpec),
  PolicyResource,
  SecretResource,
])

export type PermissionSpec = z.infer<typeof PermissionSpec>
export type ManifestResource = z.infer<typeof ManifestResource>
export type ResourceKind = 'Gateway' | 'Connector' | 'Permission' | 'Policy'
