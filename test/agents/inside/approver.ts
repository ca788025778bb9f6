import type { Laptop } from '../../support/laptop.ts'

type Card = { readonly id: string; readonly agent: string; readonly action_type: string }

export type Approver = {
  /** Approves the questions of this agent so many seconds after they came. */
  approveAfter(agent: string, seconds: number): void
  /** Action types of all questions of this agent. */
  asked(agent: string): readonly string[]
  stop(): Promise<void>
}

const PATH = '/api/dashboard/proxy-approvals'

/** The person in front of the list of questions. Questions of agents that nobody named stay unanswered. */
export function startApprover(laptop: Laptop): Approver {
  const delays = new Map<string, number>()
  const cards = new Map<string, Card>()
  const state = { isStopped: false }
  const approve = async (id: string) => {
    if (!state.isStopped) await laptop.api('POST', PATH, { id, approved: true })
  }
  const poll = async () => {
    const { body } = await laptop.api('GET', `${PATH}?status=pending&limit=500`)
    for (const card of body['approvals'] as readonly Card[]) {
      const seconds = delays.get(card.agent)
      if (cards.has(card.id)) continue
      cards.set(card.id, card)
      if (seconds !== undefined) setTimeout(() => void approve(card.id), seconds * 1_000).unref()
    }
  }
  const looking = (async () => {
    while (!state.isStopped) {
      await poll()
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  })()
  return {
    approveAfter: (agent, seconds) => void delays.set(agent, seconds),
    asked: (agent) =>
      [...cards.values()].filter((card) => card.agent === agent).map((card) => card.action_type),
    stop: async () => {
      state.isStopped = true
      await looking
    },
  }
}
