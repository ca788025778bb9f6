import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { CertificateBody } from '../../core/wire/gateway/certificate.ts'
import { HandlesBody } from '../../core/wire/gateway/handles.ts'
import { HoldBody, LeaveBody, SpendBody } from '../../core/wire/gateway/hold.ts'
import { QuotaLeaseBody } from '../../core/wire/gateway/quota-lease.ts'
import { RecordsBody } from '../../core/wire/gateway/records.ts'
import { AckBody, ResultBody, StatusBody } from '../../core/wire/gateway/sync.ts'

/**
 * What gateways report to the control plane. Commands of the internal API are no reports: an older control plane has to
 * refuse a command that it does not have.
 */
const REPORTS = {
  RecordsBody,
  AckBody,
  StatusBody,
  ResultBody,
  HoldBody,
  LeaveBody,
  SpendBody,
  HandlesBody,
  QuotaLeaseBody,
  CertificateBody,
} as const

type Definition = {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly catchall?: z.ZodType
  readonly options?: readonly z.ZodType[]
  readonly innerType?: z.ZodType
  readonly element?: z.ZodType
  readonly valueType?: z.ZodType
}

/** Paths at which the schema refuses what a newer version may add: another word of a list, another field. */
function closedPaths(schema: z.ZodType, path = ''): readonly string[] {
  const { type, shape = {}, catchall, options = [], ...rest } = schema._zod.def as unknown as Definition
  if (type === 'enum' || type === 'literal') return [path]
  if (options.some((option) => (option._zod.def as unknown as Definition).type === 'string')) return []
  const isStrict = catchall !== undefined && (catchall._zod.def as unknown as Definition).type === 'never'
  const inner = [rest.innerType, rest.element, rest.valueType, ...options].filter((one) => one !== undefined)
  return [
    ...(isStrict ? [`${path}{}`] : []),
    ...Object.entries(shape).flatMap(([name, field]) => closedPaths(field, `${path}.${name}`)),
    ...inner.flatMap((one) => closedPaths(one, path)),
  ]
}

describe('reports of newer gateways', () => {
  test.each(Object.keys(REPORTS) as Array<keyof typeof REPORTS>)(
    '%s accepts words and fields that a newer version introduces',
    (name) => {
      expect(closedPaths(REPORTS[name])).toEqual([])
    },
  )
})
