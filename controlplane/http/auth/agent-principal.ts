import { ChaperoneError } from '../../../core/errors.ts'
import type { Principal } from '../route.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>

/** Narrows the principal to an agent. Routes with `auth: 'agent'` admit no other principal. */
export function agentOf(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal
  throw new ChaperoneError('unauthorized', { detail: "This request requires an agent's key." })
}

/** Throws `forbidden` when the agent lacks the capability. */
export function requireCapability({ name, capabilities }: AgentPrincipal, capability: string): void {
  if (capabilities.includes(capability)) return
  throw new ChaperoneError('forbidden', {
    detail: `The agent ${name} does not have the capability ${capability}. An admin can add it on the agents page of the dashboard.`,
    extra: { required_capability: capability },
  })
}
