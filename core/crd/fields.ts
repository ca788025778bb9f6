import * as z from 'zod'
import { described } from './described.ts'

/** Name of a Kubernetes object (RFC 1123). */
export const dns1123 = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must have lower-case letters, digits, - and . only')

export const host = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^(\*\.)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$|^\[?[0-9a-fA-F:.]+\]?$/,
    'a host name such as api.example.com',
  )

/** Host with an optional port. Brackets enclose an IPv6 address that has a port. */
export const hostAndPort = z
  .string()
  .min(1)
  .max(260)
  .regex(
    /^(\*\.)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[1-9][0-9]{0,4})?$|^\[[0-9a-fA-F:.]+\](:[1-9][0-9]{0,4})?$|^[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*$/,
    'a host name such as api.example.com, with a port such as :8443 for any but 443',
  )

/** Path without a query. Segments are literal and need no percent-encoding; dot segments are invalid. */
export const endpointPath = z
  .string()
  .min(1)
  .max(500)
  .regex(
    /^\/(\.?[A-Za-z0-9_~-][A-Za-z0-9._~@:-]*(\/\.?[A-Za-z0-9_~-][A-Za-z0-9._~@:-]*)*\/?)?$/,
    'a path such as /mcp',
  )

/** Decision of a rule of a Permission or a Policy, and the default decision of a Gateway. */
export const RuleDecisionSchema = z.enum(['allow', 'deny', 'require_approval'])

export const httpUrl = z.url({ protocol: /^https?$/ }).max(2_048)

/** Quantity as in Kubernetes: `250m`, `90Mi`, `1`. */
const quantity = z.union([
  z
    .string()
    .min(1)
    .max(32)
    .regex(
      /^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|e[0-9]+)?$/,
      'a quantity such as 250m or 90Mi',
    ),
  z.int().min(0),
])

const amounts = z.strictObject({
  cpu: described(quantity.optional(), 'CPU time in cores, or in thousandths with `m`.', '100m'),
  memory: described(quantity.optional(), 'Memory in bytes, or with a unit such as `Mi`.', '256Mi'),
  'ephemeral-storage': described(
    quantity.optional(),
    'Storage on the node, the journal included, in bytes or with a unit such as `Gi`.',
    '1Gi',
  ),
})

/** Resources of a container. The operator's defaults apply to missing values. */
export const Resources = z.strictObject({
  requests: described(amounts.optional(), 'Resources that the scheduler reserves.'),
  limits: described(amounts.optional(), 'Resources that the container cannot exceed.'),
})

/** Returns the schema of a map with arbitrary content and at most `maxProperties` members. */
export function boundedMap<V extends z.ZodType>(value: V, maxProperties: number) {
  return z
    .record(z.string().max(256), value)
    .refine((map) => Object.keys(map).length <= maxProperties, `at most ${maxProperties} members`)
    .meta({ maxProperties })
}

/** Reference to a Gateway by name; without `namespace`, a Gateway in the namespace of the referencing object. */
export const GatewayRef = z.strictObject({
  name: described(dns1123, 'Name of the Gateway.', 'default'),
  namespace: described(
    dns1123.optional(),
    'Namespace of the Gateway. Without it, that of this object. A Gateway of another namespace has to admit this one in `allowedNamespaces`.',
    'platform',
  ),
})
export const GatewayRefs = z.array(GatewayRef).min(1).max(256)

const labelKey = z
  .string()
  .min(1)
  .max(317)
  .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'a label such as example.com/team')
const labelValue = z.string().max(63)

/** Label selector as in Kubernetes: all requirements must match. */
export const LabelSelector = z.strictObject({
  matchLabels: described(
    boundedMap(labelValue, 64).default({}),
    'Labels that a namespace must have, with their values.',
    { team: 'payments' },
  ),
  matchExpressions: described(
    z
      .array(
        z.strictObject({
          key: described(labelKey, 'Key of the label.', 'team'),
          operator: described(
            z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
            'Comparison of the label with `values`.',
            'In',
          ),
          values: described(
            z.array(labelValue).max(256).default([]),
            'Values of the operators `In` and `NotIn`. The other operators have none.',
            ['payments', 'billing'],
          ),
        }),
      )
      .max(64)
      .default([]),
    'Requirements on labels, all of which must hold.',
    [{ key: 'team', operator: 'In', values: ['payments'] }],
  ),
})

/** Namespaces that a Gateway admits besides its own: none (`Same`), all (`All`), or the selected ones (`Selector`). */
export const AdmittedNamespaces = z.strictObject(
  {
    from: described(
      z.enum(['Same', 'All', 'Selector']).default('Same'),
      '`Same`: only the namespace of the Gateway. `All`: every namespace. `Selector`: also namespaces whose labels match `selector` or whose name is in `names`.',
      'Selector',
    ),
    selector: described(LabelSelector.optional(), 'Labels of admitted namespaces, with `from: Selector`.', {
      matchLabels: { team: 'payments' },
    }),
    names: described(
      z.array(dns1123).max(4_096).default([]),
      'Names of admitted namespaces, with `from: Selector`.',
      ['payments'],
    ),
  },
  {
    error: ({ input }) =>
      Array.isArray(input)
        ? 'must not be a list; use {from: Selector, names: [...]}, or run chaperone migrate'
        : undefined,
  },
)

/** Namespaces that this Gateway admits, by the kind of the referencing object. */
export const AllowedNamespaces = z.strictObject({
  permissions: described(AdmittedNamespaces.prefault({}), 'Namespaces of Permissions.'),
  policies: described(AdmittedNamespaces.prefault({}), 'Namespaces of Policies.'),
  connectors: described(
    AdmittedNamespaces.prefault({}),
    'Namespaces of Connectors, which lend their credentials.',
  ),
  agents: described(AdmittedNamespaces.prefault({}), 'Namespaces of pods that the Gateway governs.'),
})

export type GatewayRef = z.infer<typeof GatewayRef>
export type LabelSelector = z.infer<typeof LabelSelector>
export type AdmittedNamespaces = z.infer<typeof AdmittedNamespaces>
export type AllowedNamespaces = z.infer<typeof AllowedNamespaces>
