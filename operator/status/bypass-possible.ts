import type { ConditionReason } from '../../core/crd/conditions.ts'
import type { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { type Verdict, verdict } from './conditions.ts'
import { some } from './named.ts'
import type { GatewayFacts } from './status-facts.ts'

/**
 * Returns the `BypassPossible` condition. The reason is that of the widest possible bypass; the message names all
 * possible bypasses.
 */
export function bypassPossible({ interception, inbound, agents }: GatewaySpec, facts: GatewayFacts): Verdict {
  const { changingUser, unknownUser, admittingInbound } = facts.pods
  const admitting = inbound === 'deny' ? [...admittingInbound] : []
  const open: readonly Bypass[] = [
    ...proxiedBypasses(interception, facts),
    [unknownUser > 0, 'ImageUserUnknown', UNKNOWN_USER],
    vsockBypass(agents?.seccompProfile, facts),
    [admitting.length > 0, 'PodsAdmitInbound', `${ADMITTING_INBOUND}: ${some(admitting)}`],
    [changingUser > 0, 'PodsChangeUser', CHANGING_USER],
  ]
  const found = open.filter(([isOpen]) => isOpen)
  const [first] = found
  if (first === undefined)
    return verdict('BypassPossible', 'False', ['NoneKnown', 'no bypass of the sidecars is known'])
  return verdict('BypassPossible', 'True', [first[1], found.map(([, , text]) => text).join('; ')])
}

type Bypass = readonly [isOpen: boolean, reason: ConditionReason<'BypassPossible'>, text: string]

/**
 * Returns the bypass of pods that may open AF_VSOCK sockets: all pods whose seccomp profile is not that of the Gateway.
 * The operator cannot read the content of other profiles.
 */
function vsockBypass(
  profile: string | undefined,
  { pods: { governed, seccompProfiles } }: GatewayFacts,
): Bypass {
  if (profile === undefined) return [governed > 0, 'VsockAdmitted', VSOCK]
  const closed = seccompProfiles.get(profile) ?? 0
  return [
    closed < governed,
    'VsockAdmitted',
    `vsock: pods do not have the seccomp profile ${profile} of spec.agents.seccompProfile, so they may open AF_VSOCK sockets, which reach the hypervisor of the node; restart them`,
  ]
}

/**
 * Returns the possible bypasses of pods with `interception: proxyEnv`. Such pods may be older than the spec.
 */
function proxiedBypasses(
  interception: GatewaySpec['interception'],
  { pods: { cooperative, isolatedIn }, notIsolatedIn }: GatewayFacts,
): readonly Bypass[] {
  const areAllIsolated = isolatedIn.length > 0 && notIsolatedIn.length === 0 && cooperative === 0
  const isFormer = interception === 'transparent'
  return [
    [interception === 'proxyEnv' && !areAllIsolated, 'Cooperative', COOPERATIVE],
    [interception === 'auto' && cooperative > 0, 'PodsCooperative', AUTO],
    [isFormer && cooperative > 0, 'PodsCooperative', RESTART],
    [notIsolatedIn.length > 0, 'PodsCooperative', `${NOT_ISOLATED}: ${some(notIsolatedIn)}`],
    [isolatedIn.length > notIsolatedIn.length, 'PodsIsolated', ISOLATED],
    [isFormer && cooperative === 0 && isolatedIn.length > 0, 'PodsIsolated', RESTART],
  ]
}

const COOPERATIVE =
  'spec.interception is proxyEnv: programs that ignore the proxy variables are not governed; use transparent'
const RESTART = 'pods that were injected while spec.interception was proxyEnv still run; restart them'
const NOT_ISOLATED =
  'pods are labelled IsolatedByNetworkPolicy, but no NetworkPolicy chaperone-proxy-env isolates them, so programs that ignore the proxy variables are not governed; enable networkPolicy.proxyEnv of the chart. Namespaces'
const ISOLATED =
  'Isolated by NetworkPolicy: pods have proxyEnv, and NetworkPolicy chaperone-proxy-env limits them to the control plane, DNS and the upstreams; a program that ignores the proxy variables can reach these addresses ungoverned'
const AUTO =
  'interception auto chose proxyEnv for pods under gVisor: programs that ignore the proxy variables are not governed; enable networkPolicy.proxyEnv of the chart, or use transparent on nodes with net-raw = "true"'
const UNKNOWN_USER =
  'image user unknown: pods have containers without a numeric runAsUser, and traffic of an image that runs as the user of the proxy is not captured; set securityContext.runAsUser, which spec.hardening strict requires'
const VSOCK =
  'vsock: the default seccomp profile of older container runtimes admits AF_VSOCK, which reaches the hypervisor of the node; set spec.agents.seccompProfile'
const ADMITTING_INBOUND =
  'inbound: pods were created before spec.inbound was deny, so other pods can connect to them and receive their answers; restart the pods'
const CHANGING_USER =
  'pods run programs that change their user, but governed containers lack the capabilities for it, because these would allow a bypass of the capture. Set securityContext.runAsUser (kubectl chaperone doctor POD names the containers)'
