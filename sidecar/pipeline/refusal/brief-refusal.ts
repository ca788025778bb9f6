import { killReason } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ERRORS } from '../../../core/errors.ts'
import type { Exchange } from '../exchange.ts'
import { killedBy } from '../exchange-abort.ts'
import type { Refused } from './refuse.ts'

const REFUSED = 'The request was refused.'

/**
 * Returns the refusal as the agent sees it. With `refusalDetail: brief` on the Gateway, a refusal with status 403 says
 * no more than that the request was refused, because full refusals would show the rules to an adversary. Refusals with
 * another status state what to change in the request, without the rules that require it. The record keeps the reason.
 */
export function shownRefusal(exchange: Exchange, refused: Refused): Refused {
  if (!isBrief(exchange)) return refused
  const { reason, reference, extra, brief } = refused
  if (ERRORS[refused.code].status !== 403)
    return brief === undefined ? refused : { ...refused, detail: brief, extra: { ...extra, detail: brief } }
  const id = extra?.['approval_id']
  return {
    code: 'denied',
    reason,
    detail: REFUSED,
    ...(reference === undefined ? {} : { reference }),
    extra: { decision: 'deny', ...(id === undefined ? {} : { approval_id: id }) },
  }
}

/**
 * Returns the reason of the kill switch that aborted this exchange, in the form that the agent may see. Returns null
 * when no kill switch aborted the exchange.
 */
export function shownKillReason(exchange: Exchange): string | null {
  const entry = killedBy(exchange)
  if (entry === null) return null
  return isBrief(exchange) ? REFUSED : killReason(entry)
}

function isBrief({ snapshot }: Exchange): boolean {
  return snapshot?.gateway.refusalDetail === 'brief'
}
