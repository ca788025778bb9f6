import { ChaperoneError } from '../../../core/errors.ts'
import type { GatewayPrincipal } from '../gateways/processes/principal.ts'

/**
 * Throws `forbidden` when the call of a sidecar names an agent other than the agent of the sidecar. The field `refused`
 * of the error lists the names of these agents.
 */
export function assertOwn(sidecar: GatewayPrincipal['sidecar'], agents: ReadonlyArray<string | null>): void {
  if (sidecar === null) return
  const others = agents.filter((agent) => agent !== null && agent !== sidecar.agent.name)
  if (others.length === 0) return
  throw new ChaperoneError('forbidden', {
    detail: `This sidecar serves agent ${sidecar.agent.name}. Its requests may not name agent ${others[0]}.`,
    extra: { refused: { agents: [...new Set(others)] } },
  })
}
