import type { Action } from '../../core/action/action.ts'
import { proxiedInputs } from '../../core/decision/proxied.ts'
import type { Exchange } from './exchange.ts'

/** The rules and the facts under which this exchange's actions are decided. */
export function decisionInputs(
  exchange: Exchange,
  actions: readonly Action[],
  nowMs: number,
): ReturnType<typeof proxiedInputs> {
  const { snapshot, agent, connector: bound, request } = exchange
  if (snapshot === undefined || agent === undefined || bound === undefined || request === undefined) {
    throw new Error('decided before the request was identified and routed')
  }
  return proxiedInputs({ snapshot, agent, bound, request, nowMs }, actions)
}
