import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Agents that a gateway names in a call although the gateway does not serve them. `records`: ids of traffic records
 * that the gateway began after it ceased to serve the agent of the record.
 */
export type Foreign = { readonly agents: readonly string[]; readonly records?: readonly string[] }

/**
 * Throws `forbidden` when a gateway sends data of agents that the gateway does not serve. The field `refused` of the
 * error lists these agents and records.
 */
export function refuseForeign({ agents, records = [] }: Foreign): void {
  const [agent] = agents
  const [record] = records
  if (agent === undefined && record === undefined) return
  const detail =
    agent === undefined
      ? `This gateway no longer served the agent of record ${record} when the record was started. Records from before that time are accepted for 7 days.`
      : `This gateway does not serve agent ${agent}. Requests of a gateway may name only agents that it serves.`
  throw new ChaperoneError('forbidden', {
    detail,
    extra: { refused: { agents: [...agents], record_ids: [...records] } },
  })
}
