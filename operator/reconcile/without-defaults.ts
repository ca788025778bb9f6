import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../core/crd/policy/policy-spec.ts'
import { PermissionSpec, type ResourceKind } from '../../core/crd/schemas.ts'

const SPECS: Readonly<Record<ResourceKind, z.ZodType>> = {
  Gateway: GatewaySpec,
  Connector: ConnectorSpec,
  Permission: PermissionSpec,
  Policy: PolicySpec,
}

/**
 * Returns a spec without the fields that have their default, also inside of objects and lists. The API server stores
 * the defaults of the newest custom resource definitions, also for fields that no manifest sets. A control plane of the
 * previous version would refuse such fields if it does not have them. The control plane fills in its own defaults.
 */
export function withoutDefaults(kind: ResourceKind, spec: unknown): unknown {
  return omit(SPECS[kind], spec)
}

function omit(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return omit(schema.unwrap(), value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry: unknown) => omit(schema.element, entry))
  if (!(schema instanceof z.ZodObject) || !isObject(value)) return value
  const fields = new Map(Object.entries(schema.shape))
  const kept = Object.entries(value).flatMap(([key, own]): Array<[string, unknown]> => {
    const field = fields.get(key)
    if (field === undefined) return [[key, own]]
    return isDefault(field, own) ? [] : [[key, omit(field, own)]]
  })
  return Object.fromEntries(kept)
}

function isDefault(field: z.core.$ZodType, value: unknown): boolean {
  const { success, data } = z.safeParse(field, undefined)
  return success && data !== undefined && isDeepStrictEqual(data, value)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
