import { ChaperoneError } from '../../../core/errors.ts'
import type { Principal } from '../route.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>

/** Narrows the principal to an agent. Routes with `auth: 'agent'` admit no other principal. */
export function agentOf(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal
  throw new ChaperoneError('unauthorized', { detail: "This needs an agent's key" })
}

/** Throws `forbidden` when the agent lacks the capability. */
export function requireCapability({ name, capabilities }: AgentPrincipal, capability: string): void {
  if (capabilities.includes(capability)) return
  throw new ChaperoneError('forbidden', {
    detail: `The agent ${name} needs the capability ${capability}: an admin can add it on the dashboard's agents page`,
    extra: { required_capability: capability },
  })
}
