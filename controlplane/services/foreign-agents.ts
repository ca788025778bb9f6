import { ChaperoneError } from '../../core/errors.ts'

/** Throws `forbidden`, with the names in `refused`, when a gateway names agents for which it does not speak. */
export function refuseForeign(agents: readonly string[]): void {
  if (agents.length === 0) return
  throw new ChaperoneError('forbidden', {
    detail: `${agents[0]} is no agent of this gateway: a gateway speaks for its own agents only`,
    extra: { refused: { agents: [...agents] } },
  })
}
