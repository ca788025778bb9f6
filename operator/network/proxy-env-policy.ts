import * as z from 'zod'
import { INJECT_LABEL, LAYER_LABEL } from '../../core/capture/pod-contract.ts'
import { PROXIED_LAYERS } from '../../core/inject/interception.ts'
import type { WantedPolicy } from './network-policies.ts'
import { type SandboxPolicyOptions, sidecarEgress } from './sandbox-policy.ts'

/** Name of the NetworkPolicy that isolates pods with `interception: proxyEnv`. */
export const PROXY_ENV_POLICY = 'chaperone-proxy-env'

/** Addresses of upstreams: ranges with the TCP ports that pods may reach there. */
export const Upstreams = z.array(
  z.strictObject({
    cidr: z.string(),
    except: z.array(z.string()).default([]),
    ports: z.array(z.int().min(1).max(65_535)).min(1),
  }),
)
export type Upstreams = z.infer<typeof Upstreams>

export type ProxyEnvPolicyOptions = Pick<SandboxPolicyOptions, 'ownNamespace' | 'dns'> & {
  /** Addresses of the upstreams; null when no pod is isolated. */
  readonly upstreams: Upstreams | null
  /**
   * Returns the namespaces in which pods with `interception: proxyEnv` run, or may be created by a Gateway;
   * null while the pods are not known yet.
   */
  readonly proxied: () => ReadonlySet<string> | null
}

/**
 * Returns the NetworkPolicy that permits pods with `interception: proxyEnv` only the connections that their
 * sidecars need: to the control plane, DNS and upstreams. A NetworkPolicy applies to a pod as a whole, so the
 * agent can reach the same addresses.
 */
export function proxyEnvPolicy({ upstreams, proxied, ...options }: ProxyEnvPolicyOptions): WantedPolicy {
  const spec = {
    podSelector: {
      matchLabels: { [INJECT_LABEL]: 'injected' },
      matchExpressions: [{ key: LAYER_LABEL, operator: 'In', values: PROXIED_LAYERS }],
    },
    policyTypes: ['Egress'],
    egress: [...sidecarEgress(options), ...(upstreams ?? []).map(ruleOf)],
  }
  return {
    name: PROXY_ENV_POLICY,
    wanted() {
      const namespaces = upstreams === null ? new Set<string>() : proxied()
      return namespaces === null ? null : { namespaces, spec }
    },
  }
}

function ruleOf({ cidr, except, ports }: Upstreams[number]): object {
  return {
    to: [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }],
    ports: ports.map((port) => ({ protocol: 'TCP', port })),
  }
}
