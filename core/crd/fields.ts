import * as z from 'zod'

/** A name of a Kubernetes object (RFC 1123). Every string and list of the custom resources has a bound. */
export const dns1123 = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'lower-case letters, digits, - and . only')

export const host = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^(\*\.)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$|^\[?[0-9a-fA-F:.]+\]?$/,
    'a host name such as api.example.com',
  )

/** A host with an optional port. An IPv6 address with a port is in brackets. */
export const hostAndPort = z
  .string()
  .min(1)
  .max(260)
  .regex(
    /^(\*\.)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[1-9][0-9]{0,4})?$|^\[[0-9a-fA-F:.]+\](:[1-9][0-9]{0,4})?$|^[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*$/,
    'a host name such as api.example.com, with a port such as :8443 for any but 443',
  )

/** A path without query. Segments are literal and need no percent-encoding; there are no dot segments. */
export const endpointPath = z
  .string()
  .min(1)
  .max(500)
  .regex(
    /^\/(\.?[A-Za-z0-9_~-][A-Za-z0-9._~@:-]*(\/\.?[A-Za-z0-9_~-][A-Za-z0-9._~@:-]*)*\/?)?$/,
    'a path such as /mcp',
  )

/** Decision of a rule of a Permission or a Policy, and of a Gateway where no rule decides. */
export const RuleDecisionSchema = z.enum(['allow', 'deny', 'require_approval'])

export const httpUrl = z.url({ protocol: /^https?$/ }).max(2_048)

/** A quantity of Kubernetes: `250m`, `90Mi`, `1`. */
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
  cpu: quantity.optional(),
  memory: quantity.optional(),
  'ephemeral-storage': quantity.optional(),
})

/** Resources of a container; missing values have the operator's defaults. */
export const Resources = z.strictObject({ requests: amounts.optional(), limits: amounts.optional() })

/** Returns the schema of a map with arbitrary content and at most `maxProperties` members. */
export function boundedMap<V extends z.ZodType>(value: V, maxProperties: number) {
  return z
    .record(z.string().max(256), value)
    .refine((map) => Object.keys(map).length <= maxProperties, `at most ${maxProperties} members`)
    .meta({ maxProperties })
}

/** Reference to a Gateway by name; without `namespace`, a Gateway in the namespace of the referencing object. */
export const GatewayRef = z.strictObject({ name: dns1123, namespace: dns1123.optional() })
export const GatewayRefs = z.array(GatewayRef).min(1).max(256)

const labelKey = z
  .string()
  .min(1)
  .max(317)
  .regex(/^([a-z0-9.-]+\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'a label such as example.com/team')
const labelValue = z.string().max(63)

/** Label selector as in Kubernetes: all requirements must match. */
export const LabelSelector = z.strictObject({
  matchLabels: boundedMap(labelValue, 64).default({}),
  matchExpressions: z
    .array(
      z.strictObject({
        key: labelKey,
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(labelValue).max(256).default([]),
      }),
    )
    .max(64)
    .default([]),
})

/** Namespaces that a Gateway admits besides its own: none (`Same`), all (`All`), or the selected ones (`Selector`). */
export const AdmittedNamespaces = z.strictObject(
  {
    from: z.enum(['Same', 'All', 'Selector']).default('Same'),
    /** With `from: Selector`, a namespace is admitted if its labels match `selector` or its name is in `names`. */
    selector: LabelSelector.optional(),
    names: z.array(dns1123).max(4_096).default([]),
  },
  {
    error: ({ input }) =>
      Array.isArray(input)
        ? 'is a list; use {from: Selector, names: [...]}, or let chaperone migrate rewrite it'
        : undefined,
  },
)

/** Namespaces that this Gateway admits, by the kind of the referencing object. */
export const AllowedNamespaces = z.strictObject({
  permissions: AdmittedNamespaces.prefault({}),
  policies: AdmittedNamespaces.prefault({}),
  connectors: AdmittedNamespaces.prefault({}),
  agents: AdmittedNamespaces.prefault({}),
})

export type GatewayRef = z.infer<typeof GatewayRef>
export type LabelSelector = z.infer<typeof LabelSelector>
export type AdmittedNamespaces = z.infer<typeof AdmittedNamespaces>
export type AllowedNamespaces = z.infer<typeof AllowedNamespaces>
