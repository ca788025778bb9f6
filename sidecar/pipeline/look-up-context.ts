import type { LookUpContext } from '../upstream/look-ups.ts'
import type { Exchange } from './exchange.ts'

/** Returns the context of a look-up for this exchange. Throws before the request was identified and routed. */
export function lookUpContextOf({ snapshot, connector, request, agent }: Exchange): LookUpContext {
  if (snapshot === undefined || connector === undefined || request === undefined || agent === undefined) {
    throw new Error('the request must be routed before a look-up')
  }
  return { snapshot, bound: connector, request, agent: agent.name }
}
