import { ChaperoneError } from '../../../core/errors.ts'
import type { Principal } from '../../http/route.ts'

type AgentPrincipal = Extract<Principal, { kind: 'agent' }>

/** `auth: 'agent'` admits nobody else. */
export function agentOf(principal: Principal): AgentPrincipal {
  if (principal.kind === 'agent') return principal
  throw new ChaperoneError('unauthorized', { detail: "This needs an agent's key" })
}

/** 403 for an agent that was not given the capability. */
export function requireCapability({ name, capabilities }: AgentPrincipal, capability: string): void {
  if (capabilities.includes(capability)) return
  throw new ChaperoneError('forbidden', {
    detail: `The agent ${name} needs the capability ${capability}: an admin can add it on the dashboard's agents page`,
    extra: { required_capability: capability },
  })
}
