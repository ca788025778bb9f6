import type { EffectiveReply } from '../../../../core/wire/governance.ts'
import { useResource } from '../../live/use-resource.ts'

/** What happens to each action for one more agent: a column of the matrix. */
export type ComparedAgent = {
  readonly agent: string
  readonly byType: ReadonlyMap<string, EffectiveReply['actions'][number]>
}

/** More columns than this are not read, they are scrolled past. */
export const MAX_COMPARED = 3

/** Of those that were read so far, in the order in which they were chosen. */
export function useCompared(agents: readonly string[], type: string): readonly ComparedAgent[] {
  const [first, second, third] = agents
  const read = [useOne(first, type), useOne(second, type), useOne(third, type)]
  return read.flatMap((reply) =>
    reply === null || reply.agent === null || !agents.includes(reply.agent)
      ? []
      : [{ agent: reply.agent, byType: new Map(reply.actions.map((action) => [action.type, action])) }],
  )
}

function useOne(agent: string | undefined, type: string): EffectiveReply | null {
  const input = agent === undefined ? null : { query: { type, agent } }
  return useResource('GET /api/dashboard/effective-permissions', input, { on: ['config'] }).data
}

/** Names may contain anything but a colon, so each is escaped before they are joined. */
export function comparedIn(query: Readonly<Record<string, string>>): readonly string[] {
  const list = query['with']
  return list === undefined || list === '' ? [] : list.split(',').map(decoded).slice(0, MAX_COMPARED)
}

export function comparedText(agents: readonly string[]): string | null {
  return agents.length === 0 ? null : agents.map(encodeURIComponent).join(',')
}

/** An address that somebody typed: what cannot be decoded is taken as it stands. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch (error) {
    if (error instanceof URIError) return name
    throw error
  }
}
