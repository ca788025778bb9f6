import { ruleLabel } from '../../../core/decision/policies/rule-label.ts'
import { isRefusal, type Refusal, refusal } from '../../../core/request/canonical.ts'
import { cachedDecisionsFor } from '../classification/exchange-decision.ts'
import { classifyByRequestLine } from '../classification/provisional-classification.ts'
import type { Decided, Governed } from '../phases.ts'
import { askingPolicies } from './body-facts.ts'

const MIB = 1024 * 1024
const MOST_NAMES = 5

/** Returns the size as text, for example `32 MiB (33554432 bytes)`. */
export function sizeText(bytes: number): string {
  const mib = Math.round((bytes / MIB) * 10) / 10
  return bytes < MIB ? `${bytes} bytes` : `${mib} MiB (${bytes} bytes)`
}

/**
 * Returns the refusal of a body that is longer than `limit` bytes. The refusal names the limit and the policies that
 * read the body, if there are any.
 */
export function tooLong(exchange: Governed, limit: number): Refusal {
  const who = policiesThatLook(exchange)
  const size = sizeText(limit)
  const detail =
    who !== null
      ? `${who} the body of this request, which is longer than the limit of ${size}. Send at most ${size}.`
      : exchange.provisional === undefined
        ? `The action of this request depends on its body, which is longer than the limit of ${size}. Send at most ${size}.`
        : `The gateway reads the complete body of a model request, but this body is longer than the limit of ${size}. Send at most ${size}.`
  if (who === null) return refusal('body_too_large', detail)
  const brief = `The gateway reads the body of this request, which is longer than the limit of ${size}. Send at most ${size}.`
  return { ...refusal('body_too_large', detail), brief }
}

/**
 * Adds the policies that require the body to the detail of a `body_too_large` refusal. Other refusals are returned
 * unchanged.
 */
export function withPolicies(exchange: Governed, wrong: Refusal): Refusal {
  if (wrong.code !== 'body_too_large') return wrong
  const who = policiesThatLook(exchange)
  if (who === null) return wrong
  return {
    ...wrong,
    detail: `${wrong.detail}. ${who} the body of this request.`,
    brief: `${wrong.detail}.`,
  }
}

/** Returns the refusal of a body above the limit of held bodies. */
export function tooLongToHold({ decision }: Decided, limit: number): Refusal {
  const rule = decision.decisive === undefined ? decision.permissionPattern : ruleLabel(decision.decisive)
  const by = rule === null ? '' : ` (${rule})`
  const textOf = (what: string) =>
    `${what} may have a body of at most ${sizeText(limit)}. Send several smaller requests, or ask an administrator for a rule that decides this action without an approval.`
  const detail = textOf(`A request that requires approval${by}`)
  return { ...refusal('body_too_large', detail), brief: textOf('A request that requires approval') }
}

function policiesThatLook(exchange: Governed): string | null {
  const { connector, request, body } = exchange
  const provisional = classifyByRequestLine(connector, request, body.isEmpty)
  if (isRefusal(provisional)) return null
  const names = askingPolicies(cachedDecisionsFor(provisional, exchange).questions, exchange)
  if (names.length === 0) return null
  const quoted = names.slice(0, MOST_NAMES).map((name) => `"${name}"`)
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return names.length === 1 ? `Policy ${quoted} reads` : `Policies ${quoted.join(', ')}${more} read`
}
