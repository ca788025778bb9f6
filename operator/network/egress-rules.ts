import { BlockList, isIP } from 'node:net'
import type { Labels } from '../../core/crd/gateway/allowed-namespaces.ts'

/** NetworkPolicy of a namespace, with the fields that govern egress. */
export type EgressPolicy = {
  readonly metadata: { readonly name: string }
  readonly spec?: {
    readonly podSelector?: Selector
    readonly policyTypes?: readonly string[]
    readonly egress?: readonly EgressRule[]
  }
}
type EgressRule = {
  readonly to?: readonly Peer[]
  readonly ports?: ReadonlyArray<{
    readonly protocol?: string
    readonly port?: number | string
    readonly endPort?: number
  }>
}
type Peer = {
  readonly namespaceSelector?: Selector
  readonly podSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}
type Selector = {
  readonly matchLabels?: Labels
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }>
}

/** Service that a sidecar must reach, with its pods, addresses and ports. */
export type EgressTarget = {
  /** Name of the service in status conditions and log messages. */
  readonly name: string
  readonly ports: ReadonlyArray<{ readonly protocol: 'TCP' | 'UDP'; readonly port: number }>
  /** Pods of the service, with the labels of their namespace. */
  readonly pods: ReadonlyArray<{
    readonly namespace: string
    readonly namespaceLabels: Labels
    readonly labels: Labels
    readonly address: string | null
  }>
  /** Addresses of the service that belong to none of `pods`. */
  readonly addresses: readonly string[]
}

/**
 * Returns the NetworkPolicies that isolate the egress of a pod. Without such a NetworkPolicy, the pod may reach every
 * destination.
 */
export function isolating(policies: readonly EgressPolicy[], labels: Labels): readonly EgressPolicy[] {
  return policies.filter(
    ({ spec }) =>
      (spec?.policyTypes?.includes('Egress') ?? spec?.egress !== undefined) &&
      selects(spec?.podSelector, labels),
  )
}

/** Reports whether the NetworkPolicies of a pod in `namespace` together admit every port of the destination. */
export function admitsEgress(
  policies: readonly EgressPolicy[],
  namespace: string,
  { ports, pods, addresses }: EgressTarget,
): boolean {
  const rules = policies.flatMap(({ spec }) => spec?.egress ?? [])
  return ports.every((port) =>
    rules.some(
      (rule) =>
        hasPort(rule, port) && (rule.to === undefined || rule.to.length === 0 || rule.to.some(reaches)),
    ),
  )

  function reaches(peer: Peer): boolean {
    const { ipBlock } = peer
    if (ipBlock !== undefined)
      return [...addresses, ...pods.flatMap(({ address }) => address ?? [])].some((one) =>
        holds(ipBlock, one),
      )
    return pods.some(
      (pod) =>
        selects(peer.podSelector, pod.labels) &&
        (peer.namespaceSelector === undefined
          ? pod.namespace === namespace
          : selects(peer.namespaceSelector, pod.namespaceLabels)),
    )
  }
}

/**
 * Reports whether a rule admits the port. A port that the rule gives by name counts as a match, because this
 * function does not have the port names of pods.
 */
function hasPort({ ports }: EgressRule, { protocol, port }: EgressTarget['ports'][number]): boolean {
  if (ports === undefined || ports.length === 0) return true
  return ports.some(({ protocol: given = 'TCP', port: first, endPort }) => {
    if (given !== protocol) return false
    if (typeof first !== 'number') return true
    return port >= first && port <= (endPort ?? first)
  })
}

function holds({ cidr, except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean {
  return isIn(cidr, address) && !except.some((range) => isIn(range, address))
}

function isIn(cidr: string, address: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/')
  const family = isIP(network)
  if (family === 0 || family !== isIP(address)) return false
  const type = family === 6 ? 'ipv6' : 'ipv4'
  const range = new BlockList()
  range.addSubnet(network, Number(prefix), type)
  return range.check(address, type)
}

/** Matches labels as NetworkPolicies do: an absent or empty selector selects everything. */
function selects({ matchLabels = {}, matchExpressions = [] }: Selector = {}, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(labels, key)
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      const isListed = value !== undefined && values.includes(value)
      return operator === 'In' ? isListed : !isListed
    })
  )
}

/**
 * Returns the value of a label. Ignores inherited properties, because the author of a pod may choose a key
 * such as `constructor`.
 */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}
