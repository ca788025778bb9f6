import { areWhole } from '../../connectors/fields/other-fields.ts'
import { isAmbiguous } from '../../storable.ts'
import type { HeldBy } from '../../wire/gateway/hold.ts'
import { GRANT_RISK_LIMIT } from '../../wire/grants.ts'

/** Facts of a held request that decide whether a grant can cover it. */
export type GrantFacts = {
  readonly held_by?: HeldBy | undefined
  readonly risk_score: number
  readonly unread_body?: unknown
  readonly target: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  /** Path and query of the held request; null if no request is pending. */
  readonly path: string | null
  readonly body_sha256: string | null
  readonly access_request?: boolean | undefined
}

/**
 * Returns the reason why no grant can cover a held request, as a sentence; null if a grant can. Does not check whether
 * the policies that hold the request permit a grant (see `policyObstacle`).
 */
export function grantObstacle(facts: GrantFacts): string | null {
  const { held_by, risk_score, unread_body, target, access_request } = facts
  if (risk_score >= GRANT_RISK_LIMIT)
    return `The risk is ${risk_score.toFixed(2)}. Each request with a risk of ${GRANT_RISK_LIMIT} or more needs its own answer.`
  if (unread_body != null)
    return 'The gateway cannot read the body of this request, so each such request needs its own answer.'
  if (held_by === undefined && access_request === true)
    return 'Later requests can be approved only if a rule requires approval for the action, and no rule does. If a rule denies what the agent needs, change that rule.'
  if (held_by === undefined)
    return 'A grant (an approval of later requests) is not possible, because the request has several actions or an incomplete body, or an earlier version of the gateway held it. Each such request needs its own answer.'
  if (held_by.policies.some(({ distinct }) => distinct))
    return 'A policy requires answers of different users for this request, so one user cannot approve later requests.'
  if (hasOnlyUnnamedContent(facts))
    return 'The request has no parameters with which later requests can be compared, so each such request needs its own answer.'
  return target !== null && !isExact(target)
    ? 'The target contains characters that cannot be compared, so each such request needs its own answer.'
    : null
}

/** Reports whether a request has a body or a query, but no parameter that a grant could compare. */
function hasOnlyUnnamedContent({ access_request, parameters, path, body_sha256 }: GrantFacts): boolean {
  if (access_request === true || comparableNames(parameters).length > 0) return false
  return (body_sha256 !== null && body_sha256 !== EMPTY_SHA256) || queryOf(path) !== null
}

/** Hex SHA-256 of an empty body. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Returns the query of a path, without `?`; null if the path has none. */
export function queryOf(path: string | null): string | null {
  const at = path?.indexOf('?') ?? -1
  return path === null || at === -1 ? null : path.slice(at + 1)
}

/** Active version of a policy that holds a request. */
export type PolicyInForce = {
  readonly ref: string
  readonly name: string
  readonly isOfPlatform: boolean
}

/**
 * Returns the reason why the policies that hold a request permit no grant, as a sentence; null if these policies permit
 * a grant. `inForce`: the active versions of these policies, without built-in policies and policies that have changed
 * since.
 */
export function policyObstacle({ policies }: HeldBy, inForce: readonly PolicyInForce[]): string | null {
  for (const { ref, rule } of policies) {
    const policy = inForce.find((each) => each.ref === ref)
    if (policy === undefined)
      return `Later requests cannot be approved, because the policy of rule "${rule}" is built in or has changed since the request was held. Answer only this request.`
    if (policy.isOfPlatform)
      return `Rule "${rule}" belongs to a policy of the platform team. Each request that this policy holds needs its own answer.`
  }
  return null
}

/** Values that a grant compares. */
export type ComparedValues = {
  /** Compared values by parameter name. If `isExact` is true, the values of all parameters of the card. */
  readonly values: Readonly<Record<string, unknown>>
  /** True if a covered request must have exactly the same parameters, other fields and query. */
  readonly isExact: boolean
  /** Names of parameters that the approver selected, but for which the request has no comparable parameter. */
  readonly missing: readonly string[]
  /** Parameters and other fields whose values an exact grant would have to compare, but cannot compare. */
  readonly incomparable: readonly string[]
}

/**
 * Returns the values that a grant compares. A grant that names all comparable parameters is exact. The card of an
 * access request has no parameters, so its grant is not exact and covers any parameters.
 */
export function comparedValues(
  { parameters, access_request }: Pick<GrantFacts, 'parameters' | 'access_request'>,
  names: readonly string[],
): ComparedValues {
  const comparable = comparableNames(parameters)
  const missing = names.filter((name) => !comparable.includes(name))
  if (access_request === true || !comparable.every((name) => names.includes(name))) {
    const values = Object.fromEntries(names.map((name) => [name, parameters[name]]))
    return { values, isExact: false, missing, incomparable: [] }
  }
  const incomparable = Object.keys(parameters).filter(
    (name) => !isExact(parameters[name]) || (name === OTHER_FIELDS && !areWhole(parameters[name])),
  )
  return { values: parameters, isExact: true, missing, incomparable }
}

const OTHER_FIELDS = 'other_fields'

/** Parameters of a card that describe the request and are no parameters of its action. */
const DESCRIPTIONS: ReadonlySet<string> = new Set([
  'actions',
  'candidates',
  'name_reason',
  OTHER_FIELDS,
  'request_stream',
])

/** Returns the names of the parameters that a grant can compare, in the order of the card. */
export function comparableNames(parameters: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(parameters).flatMap(([name, value]) =>
    DESCRIPTIONS.has(name) || !isExact(value) ? [] : [name],
  )
}

/**
 * Reports whether equal values on two cards prove that the requests had equal values. A card replaces characters that
 * cannot be stored, and a parser rounds large and fractional numbers.
 */
function isExact(value: unknown): boolean {
  if (typeof value === 'string') return !isAmbiguous(value)
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return value !== undefined
  return Object.entries(value).every(([key, item]) => isExact(key) && isExact(item))
}

/** Returns the rules of a hold in a fixed order, so that two holds of the same rules are equal. */
export function orderedHeldBy({ policies, ...rest }: HeldBy): HeldBy {
  const keyed = policies.map((each) => ({ ...each, groups: [...each.groups].sort() }))
  return { ...rest, policies: keyed.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1)) }
}

function textOf({ ref, rule, groups }: HeldBy['policies'][number]): string {
  return JSON.stringify([ref, rule, groups])
}
