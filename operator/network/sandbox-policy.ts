import { isIP } from 'node:net'
import { INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { splitAuthority, withoutBrackets } from '../../core/request/authority-text.ts'
import type { WantedPolicy } from './network-policies.ts'

/** Name of the NetworkPolicy that lets the sidecars of agent-sandbox's pods reach the control plane and DNS. */
export const SANDBOX_POLICY = 'chaperone-agent-sandbox'
/** Label by which the NetworkPolicy of agent-sandbox for a SandboxTemplate selects the pods of the template. */
const TEMPLATE_HASH_LABEL = 'agents.x-k8s.io/sandbox-template-ref-hash'
/** Port of the control plane's pods. NetworkPolicies apply to ports of pods, not of Services. */
export const CONTROL_PLANE_PORT = 3443
export const DNS_PORT = 53
/** Labels of the control plane's pods. */
export const CONTROL_PLANE_LABELS = {
  'app.kubernetes.io/component': 'control-plane',
  'app.kubernetes.io/part-of': 'chaperone',
}

/** Pods of one namespace, by their labels. */
export type LabelledPods = {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
}

export type SandboxPolicyOptions = {
  /** The namespace of the control plane. */
  readonly ownNamespace: string
  readonly dns: {
    /** DNS servers of sidecars, `IP` or `IP:PORT`. */
    readonly resolvers: readonly string[]
    /** Pods behind the address of the Service of the DNS servers. NetworkPolicies apply to pods, not to Services. */
    readonly pods: LabelledPods
  }
  /** Returns the namespaces in which a pod may be governed. */
  readonly governed: () => ReadonlySet<string>
  /** Returns the namespaces with a SandboxTemplate; null while they are not known. */
  readonly withTemplates: () => ReadonlySet<string> | null
}

/**
 * Returns the NetworkPolicy for governed pods of SandboxTemplates, in every namespace that can have governed pods and
 * has a SandboxTemplate. The NetworkPolicy that agent-sandbox creates for a template admits public addresses only, so
 * the sidecar would reach neither control plane nor DNS.
 */
export function sandboxPolicy(options: SandboxPolicyOptions): WantedPolicy {
  const spec = specOf(options)
  return {
    name: SANDBOX_POLICY,
    wanted() {
      const templates = options.withTemplates()
      if (templates === null) return null
      const namespaces = new Set([...options.governed()].filter((namespace) => templates.has(namespace)))
      return { namespaces, spec }
    },
  }
}

/**
 * Returns the spec of the NetworkPolicy. Both selectors must match a pod, and they match only pods that the
 * NetworkPolicy of their template already isolates, so no pod is isolated by this NetworkPolicy alone.
 */
function specOf(options: SandboxPolicyOptions): object {
  return {
    podSelector: {
      matchLabels: { [INJECT_LABEL]: 'injected' },
      matchExpressions: [{ key: TEMPLATE_HASH_LABEL, operator: 'Exists' }],
    },
    policyTypes: ['Egress'],
    egress: sidecarEgress(options),
  }
}

/** Returns the egress rules that every sidecar needs: control plane and DNS. */
export function sidecarEgress({
  ownNamespace,
  dns,
}: Pick<SandboxPolicyOptions, 'ownNamespace' | 'dns'>): readonly object[] {
  return [
    {
      to: [podsOf({ namespace: ownNamespace, labels: CONTROL_PLANE_LABELS })],
      ports: [{ protocol: 'TCP', port: CONTROL_PLANE_PORT }],
    },
    { to: [podsOf(dns.pods)], ports: dnsPorts(DNS_PORT) },
    ...dns.resolvers.map(serverOf),
  ]
}

function podsOf({ namespace, labels }: LabelledPods): object {
  return {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    podSelector: { matchLabels: labels },
  }
}

function dnsPorts(port: number): readonly object[] {
  return ['UDP', 'TCP'].map((protocol) => ({ protocol, port }))
}

function serverOf(server: string): object {
  const { address, port } = serverAddress(server)
  const cidr = `${address}/${isIP(address) === 6 ? 128 : 32}`
  return { to: [{ ipBlock: { cidr } }], ports: dnsPorts(port) }
}

/** Splits the address of a DNS server, `IP` or `IP:PORT`. */
export function serverAddress(server: string): { readonly address: string; readonly port: number } {
  const { host, port } = splitAuthority(server)
  return { address: withoutBrackets(host), port: port ?? DNS_PORT }
}
