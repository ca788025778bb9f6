import type { ConnectorTypeName } from '../../../../core/wire/connectors.ts'
import type { EffectiveReply } from '../../../../core/wire/permissions.ts'
import { useResource } from '../../live/use-resource.ts'

/** Decisions for an agent that is compared with the selected agent. The list shows them as one column. */
export type ComparedAgent = {
  readonly agent: string
  readonly byType: ReadonlyMap<string, EffectiveReply['actions'][number]>
}

/** Maximum number of compared agents. */
export const MAX_COMPARED = 3

/** Returns the compared agents whose decisions have loaded, in the order of selection. */
export function useCompared(agents: readonly string[], type: ConnectorTypeName): readonly ComparedAgent[] {
  const [first, second, third] = agents
  const read = [useOne(first, type), useOne(second, type), useOne(third, type)]
  return read.flatMap((reply) =>
    reply === null || reply.agent === null || !agents.includes(reply.agent)
      ? []
      : [{ agent: reply.agent, byType: new Map(reply.actions.map((action) => [action.type, action])) }],
  )
}

function useOne(agent: string | undefined, type: ConnectorTypeName): EffectiveReply | null {
  const input = agent === undefined ? null : { query: { type, agent } }
  return useResource('GET /api/dashboard/effective-permissions', input, { on: ['config'] }).data
}

/** Parses the names of the compared agents from the URL. Names are percent-encoded, because they can contain commas. */
export function comparedIn(query: Readonly<Record<string, string>>): readonly string[] {
  const list = query['with']
  return list === undefined || list === '' ? [] : list.split(',').map(decoded).slice(0, MAX_COMPARED)
}

export function comparedText(agents: readonly string[]): string | null {
  return agents.length === 0 ? null : agents.map(encodeURIComponent).join(',')
}

/** Decodes a percent-encoded name. Returns malformed input unchanged. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch (error) {
    if (error instanceof URIError) return name
    throw error
  }
}
