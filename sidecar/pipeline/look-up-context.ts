import type { LookUpContext } from '../upstream/look-ups.ts'
import type { Governed } from './phases.ts'

/** Returns the context of a look-up for this exchange. */
export function lookUpContextOf({ snapshot, connector, request, agent }: Governed): LookUpContext {
  return { snapshot, bound: connector, request, agent: agent.name }
}
