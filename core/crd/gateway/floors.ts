import * as z from 'zod'
import { ChaperoneError } from '../../errors.ts'
import { fieldPath } from '../../field-path.ts'
import { fieldMessage } from '../../schema/field-message.ts'
import { RuleDecisionSchema } from '../fields.ts'
import { EnforcementLevelSchema } from './gateway-fields.ts'
import type { GatewaySpec } from './gateway-spec.ts'

const seconds = z.int().min(0).max(86_400).optional()

/** Minimum strictness of the Gateways of tenants, set by the platform team. An absent field sets no floor. */
export const Floors = z.strictObject({
  enforcementLevel: EnforcementLevelSchema.optional(),
  defaultDecision: RuleDecisionSchema.optional(),
  unmatchedHosts: z.enum(['deny', 'tunnel']).optional(),
  failurePolicy: z
    .strictObject({
      highRiskAfterSeconds: seconds,
      writesAfterSeconds: seconds,
      everythingAfterSeconds: seconds,
    })
    .default({}),
  hardening: z.enum(['standard', 'strict']).optional(),
})
export type Floors = z.output<typeof Floors>

/** Floors, and the namespaces of the platform team, whose Gateways have no floors. */
export type FloorRules = { readonly floors: Floors; readonly platformNamespaces: ReadonlySet<string> }

/** Field of a Gateway that is less strict than its floor. */
export type FieldBelowFloor = {
  /** Path of the Gateway's field, such as `spec.egress.unmatchedHosts`. */
  readonly field: string
  readonly written: string
  /** Name of the floor, such as `floors.unmatchedHosts`. */
  readonly floor: string
  readonly held: string
}

export type Floored = { readonly spec: GatewaySpec; readonly below: readonly FieldBelowFloor[] }

/** Values of each field from the least to the most strict. For numbers of seconds, smaller is stricter. */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  enforcementLevel: EnforcementLevelSchema.options,
  defaultDecision: ['allow', 'require_approval', 'deny'],
  unmatchedHosts: ['tunnel', 'deny'],
  hardening: ['standard', 'strict'],
}

/**
 * Steps of `failurePolicy`, in the order in which they begin to deny requests. The time of a step must not exceed the
 * time of a later step, and the floor of a step must not exceed the floor of a later step.
 */
const STAGES = ['highRiskAfterSeconds', 'writesAfterSeconds', 'everythingAfterSeconds'] as const

/** Returns the spec with every field raised to its floor, and a list of the fields that were below their floors. */
function atFloor(spec: GatewaySpec, { floors }: Pick<FloorRules, 'floors'>): Floored {
  const below: FieldBelowFloor[] = []
  const raise = <T extends string | number>(field: string, written: T, floor: Floor<T>): T => {
    if (floor.value === undefined || !isBelow(floor.name, written, floor.value)) return written
    below.push({
      field: `spec.${field}`,
      written: String(written),
      floor: `floors.${floor.name}`,
      held: String(floor.value),
    })
    return floor.value
  }
  const raiseNamed = <K extends 'enforcementLevel' | 'defaultDecision' | 'hardening'>(name: K) =>
    raise<GatewaySpec[K]>(name, spec[name], { name, value: floors[name] as GatewaySpec[K] | undefined })
  const { failurePolicy, egress } = spec
  const host = { name: 'unmatchedHosts', value: floors.unmatchedHosts }
  const stages = STAGES.map(
    (stage) =>
      [
        stage,
        raise(`failurePolicy.${stage}`, failurePolicy[stage], stageFloor(stage, floors.failurePolicy)),
      ] as const,
  )
  const raised: GatewaySpec = {
    ...spec,
    enforcementLevel: raiseNamed('enforcementLevel'),
    defaultDecision: raiseNamed('defaultDecision'),
    egress: { ...egress, unmatchedHosts: raise('egress.unmatchedHosts', egress.unmatchedHosts, host) },
    failurePolicy: { ...failurePolicy, ...Object.fromEntries(stages) },
    hardening: raiseNamed('hardening'),
  }
  return { spec: below.length === 0 ? spec : raised, below }
}

type Floor<T> = { readonly name: string; readonly value: T | undefined }

/** Returns the floor of a step of `failurePolicy`: the smallest of its own floor and the floors of later steps. */
function stageFloor(stage: (typeof STAGES)[number], floors: Floors['failurePolicy']): Floor<number> {
  const [smallest] = STAGES.slice(STAGES.indexOf(stage))
    .flatMap((each) => {
      const value = floors[each]
      return value === undefined ? [] : [{ name: `failurePolicy.${each}`, value }]
    })
    .sort((a, b) => a.value - b.value)
  return smallest ?? { name: `failurePolicy.${stage}`, value: undefined }
}

/**
 * Returns the spec of a Gateway in this namespace, raised to the floors by `atFloor`. Gateways of platform namespaces
 * have no floors.
 */
export function floored(spec: GatewaySpec, namespace: string, rules: FloorRules | undefined): Floored {
  if (rules === undefined || rules.platformNamespaces.has(namespace)) return { spec, below: [] }
  return atFloor(spec, rules)
}

/**
 * Returns a text such as `spec.hardening is standard, which is weaker than the minimum floors.hardening of this
 * installation (strict)`.
 */
export function floorText({ field, written, floor, held }: FieldBelowFloor): string {
  return `${field} is ${written}, which is weaker than the minimum ${floor} of this installation (${held})`
}

/** Parses `GATEWAY_FLOORS` (JSON). Throws `validation` with the variable and the field. */
export function readFloors(text: string | null): Floors {
  const parsed = Floors.safeParse(jsonOf(text ?? '{}'), { error: fieldMessage })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = fieldPath(['GATEWAY_FLOORS', ...(issue?.path ?? [])])
  throw new ChaperoneError('validation', { detail: `${place}: ${issue?.message ?? 'invalid'}.` })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ChaperoneError('validation', { detail: 'GATEWAY_FLOORS is not JSON.' })
  }
}

function isBelow(name: string, written: string | number, floor: string | number): boolean {
  if (typeof written === 'number') return written > Number(floor)
  const order = ORDERS[name] ?? []
  return order.indexOf(written) < order.indexOf(String(floor))
}
