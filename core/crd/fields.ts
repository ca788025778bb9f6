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
    'a host name such as api.example.com, with a port such as :8443 if it is not 443',
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
    'Namespace of the Gateway. If absent, the namespace of this object. A Gateway of another namespace must admit this namespace in `allowedNamespaces`.',
    'platform',
  ),
})
export const GatewayRefs = z.array(GatewayRef).min(1).max(256)

export type GatewayRef = z.infer<typeof GatewayRef>
