import { INBOUND_LABEL } from '../../core/capture/pod-contract.ts'
import type { WantedPolicy } from './network-policies.ts'

/** Name of the NetworkPolicy that isolates the pods of Gateways with `inbound: deny`. */
export const INBOUND_POLICY = 'chaperone-inbound'

/** Denies all connections to the pods. Connections that the pods open are not affected. */
const SPEC = {
  podSelector: { matchLabels: { [INBOUND_LABEL]: 'deny' } },
  policyTypes: ['Ingress'],
  // An explicit empty list, so that server-side apply removes rules that another client adds.
  ingress: [],
} as const

/** Returns the NetworkPolicy for the namespaces with pods of Gateways that deny inbound connections. */
export function inboundPolicy(denied: () => ReadonlySet<string>): WantedPolicy {
  return { name: INBOUND_POLICY, wanted: () => ({ namespaces: denied(), spec: SPEC }) }
}
