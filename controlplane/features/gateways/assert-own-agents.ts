import { ChaperoneError } from '../../../core/errors.ts'
import type { GatewayPrincipal } from './principal.ts'

/**
 * Throws `forbidden` when a sidecar names other agents than its own. The field `refused` of the error lists their
 * names.
 */
export function assertOwn(sidecar: GatewayPrincipal['sidecar'], agents: ReadonlyArray<string | null>): void {
  if (sidecar === null) return
  const others = agents.filter((agent) => agent !== null && agent !== sidecar.agent.name)
  if (others.length === 0) return
  throw new ChaperoneError('forbidden', {
    detail: `This sidecar speaks for ${sidecar.agent.name}, not for ${others[0]}`,
    extra: { refused: { agents: [...new Set(others)] } },
  })
}
