import type { ActivityReply } from '../../../../core/wire/overview.ts'

export type Denial = ActivityReply['denials'][number]

/** Denials of one agent. `others`: number of denials of the agent that the list omits. */
export type DenialGroup = {
  readonly agent: string | null
  readonly count: number
  readonly lastAt: string
  readonly denials: readonly Denial[]
  readonly others: number
}

/**
 * A denial as the API returns it. During a rolling upgrade, a replica of an older version sends no
 * `agent_count`.
 */
type Given = Omit<Denial, 'agent_count'> & Partial<Pick<Denial, 'agent_count'>>

/** Groups denials by agent. The agent with the most denials comes first. */
export function groupDenials(denials: readonly Given[]): DenialGroup[] {
  return [...Map.groupBy(denials, ({ agent }) => agent)]
    .map(([agent, own]) => {
      const listed = own.reduce((sum, { count }) => sum + count, 0)
      const count = Math.max(listed, ...own.map(({ agent_count = 0 }) => agent_count))
      const lastAt =
        own
          .map(({ last_at }) => last_at)
          .toSorted()
          .at(-1) ?? ''
      const counted = own.map((denial) => ({ ...denial, agent_count: count }))
      return { agent, count, lastAt, denials: counted, others: count - listed }
    })
    .toSorted((a, b) => b.count - a.count)
}
