import type { ConditionReason } from '../../core/crd/conditions.ts'
import { floorText } from '../../core/crd/gateway/floors.ts'
import { killScopesOf } from '../../core/crd/kill-scopes.ts'
import type { GatewayStatus } from '../../core/crd/status.ts'
import {
  concernsGateway,
  gatewaySource,
  isConfigMapSource,
} from '../../core/decision/kill-switch/kill-reach.ts'
import { matchKill } from '../../core/decision/kill-switch/kill-switch.ts'
import { LAYERS } from '../../core/inject/interception.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { GatewayProcess } from '../../core/wire/operator/operator.ts'
import type { CustomResource } from '../cluster/custom-resources.ts'
import type { Disconnected } from '../cluster/disconnections.ts'
import { isCurrent } from '../control/gateway-states.ts'
import type { BypassingPod } from '../guard/watchdog.ts'
import { keyOf } from '../kube/objects.ts'
import { egressCauseText } from '../network/egress-cause.ts'
import { bypassPossible } from './bypass-possible.ts'
import { type Verdict, verdict } from './conditions.ts'
import { some } from './named.ts'
import type { GatewayFacts } from './status-facts.ts'

export type GatewayPart = {
  readonly verdicts: readonly Verdict[]
  /** `Degraded` conditions of gateway processes and pods, the most severe first. */
  readonly degraded: readonly Verdict[]
  /** `Degraded` condition with the warnings of gateway processes; null when there are none. */
  readonly warnings: Verdict | null
  readonly fields: Pick<GatewayStatus, 'gateways' | 'pods' | 'layer'>
}

/** Returns the part of the status that only a Gateway has. */
export function gatewayPart(gateway: CustomResource<'Gateway'>, facts: GatewayFacts): GatewayPart {
  const name = keyOf(gateway)
  const { state, pods } = facts
  const { namespace = '' } = gateway.metadata
  const processes = state?.processes ?? []
  const killSwitch = killSwitchOf(gateway, name, state?.kills ?? [])
  const killed = processes.filter((process) => process.has_kill_state).length
  return {
    verdicts: [
      killVerdict(killSwitch, name),
      bypassPossible(gateway.spec, facts),
      detected(processes, facts.bypassing),
      floorVerdict(facts),
    ],
    degraded: [...processVerdicts(facts), ...podVerdicts(facts, namespace)],
    warnings: warningVerdict(processes),
    fields: {
      gateways: {
        connected: processes.length,
        current: processes.filter((process) => isCurrent(process, state?.version ?? 0)).length,
        ...(killSwitch === null ? {} : { killed }),
      },
      pods: { governed: pods.governed, ready: pods.ready },
      layer: layerOf(gateway, facts),
    },
  }
}

/**
 * Returns the capture layer that the status of a Gateway shows, that is, how the traffic of its pods reaches
 * their sidecars. If the pods have several layers, returns the weakest one. The spec alone is not sufficient,
 * because pods may be older than the spec, and only a ready sidecar has proved the capture of its pod.
 */
function layerOf({ spec }: CustomResource<'Gateway'>, { pods, notIsolatedIn }: GatewayFacts): string {
  const { ready, cooperative, isolatedIn } = pods
  if (cooperative > 0 || notIsolatedIn.length > 0) return LAYERS.proxyEnv
  if (isolatedIn.length > 0) return LAYERS.isolated
  if (spec.interception === 'proxyEnv') return LAYERS.proxyEnv
  return ready > 0 ? 'Captured' : 'Unproven'
}

/**
 * Returns the active kill switch of a Gateway: a kill switch that is in force, or one that the spec of the Gateway
 * activates and that the control plane has not confirmed yet.
 */
function killSwitchOf(
  { spec }: CustomResource<'Gateway'>,
  name: string,
  kills: readonly KillEntry[],
): KillEntry | null {
  const own = gatewaySource(name)
  const concerning = kills.filter(({ source }) => concernsGateway(source, name))
  const whole = { gateway: name, agent: null, agentId: null, instance: null, connectors: [] }
  const found = matchKill(concerning, whole)
  if (found !== null) return found
  const narrow = concerning.find(({ source }) => source === own)
  if (narrow !== undefined) return narrow
  if (spec.killSwitch?.active !== true) return null
  const { reason = '' } = spec.killSwitch
  return { scope: killScopesOf(spec.killSwitch).join(', '), source: own, reason, since: '' }
}

/**
 * Returns the `KillSwitchActive` condition. The text of the condition contains no counts, which are in
 * `status.gateways`.
 */
function killVerdict(killSwitch: KillEntry | null, name: string): Verdict {
  if (killSwitch === null)
    return verdict('KillSwitchActive', 'False', ['NotActive', 'no kill switch denies requests'])
  const { source, scope, reason } = killSwitch
  const text = `kill switch in force (${scope}, by ${source}): ${reason}`
  return verdict('KillSwitchActive', 'True', [killReasonOf(source, name), text])
}

function killReasonOf(source: string, name: string): ConditionReason<'KillSwitchActive'> {
  if (source === gatewaySource(name)) return 'Gateway'
  return isConfigMapSource(source) ? 'Emergency' : 'Elsewhere'
}

/**
 * Returns the `BypassDetected` condition. The reason is that of the most severe bypass; the message names all bypasses.
 */
function detected(processes: readonly GatewayProcess[], bypassing: readonly BypassingPod[]): Verdict {
  const podsWith = (kind: BypassingPod['kind']) =>
    bypassing.filter((pod) => pod.kind === kind).map(({ name }) => name)
  const isShared = ({ conditions }: GatewayProcess) => conditions.includes('BypassDetected/ProxyUser')
  const isBroken = ({ conditions }: GatewayProcess) => conditions.includes('BypassDetected')
  const sharing = processes.filter(isShared).map(nameOf)
  // A sidecar that reports `BypassDetected/ProxyUser` also reports `BypassDetected`, which older operators read.
  const broken = processes.filter((each) => isBroken(each) && !isShared(each)).map(nameOf)
  const findings: readonly Finding[] = [
    ['PodWithoutSidecar', NO_SIDECAR, podsWith('ungoverned'), 'restart them'],
    ['PodWithoutSidecar', CHANGED, podsWith('sidecar-changed'), 'restart them'],
    ['ProxyUserShared', SHARED, [...podsWith('proxy-user'), ...sharing], SET_USER],
    ['CaptureBroken', BROKEN, broken, 'restart their pods'],
  ]
  const found = findings.filter(([, , names]) => names.length > 0)
  const [first] = found
  if (first === undefined)
    return verdict('BypassDetected', 'False', ['NoneDetected', 'no ungoverned traffic is known'])
  const texts = found.map(([, text, names, remedy]) => `${text}: ${some(names)}; ${remedy}`)
  return verdict('BypassDetected', 'True', [first[0], texts.join('; ')])
}

type Finding = readonly [ConditionReason<'BypassDetected'>, text: string, names: string[], remedy: string]

const NO_SIDECAR = 'pods that should be governed run without a sidecar, so no rule applies to their traffic'
const CHANGED = 'the sidecar of pods was changed, or does not start first, so their traffic may bypass it'
const SHARED =
  'another process of the pod runs as the user of the sidecar, so the traffic of that process is not captured'
const SET_USER = 'set securityContext.runAsUser of its containers'
const BROKEN = 'the traffic capture of sidecars is broken, so traffic of their agents can bypass the gateway'

const ABOVE_FLOORS = 'no field of the spec is weaker than the minimum of this installation'

/** Returns the `Degraded` conditions of gateway processes that keep an older configuration. */
function processVerdicts({ state }: GatewayFacts): readonly Verdict[] {
  const rejecting = state?.processes.filter(({ rejected }) => rejected !== null) ?? []
  const lagging = state?.lagging ?? []
  const [first] = rejecting
  return [
    ...(first === undefined
      ? []
      : [
          verdict('Degraded', 'True', [
            'GatewayRejected',
            `gateway processes refused the configuration and keep an older one: ${some(rejecting.map(nameOf))}: ${first.rejected}`,
          ]),
        ]),
    ...(lagging.length === 0
      ? []
      : [
          verdict('Degraded', 'True', [
            'GatewayLagging',
            `gateway processes have not applied the published configuration for over 60 s; check their log: ${some(lagging.map(nameOf))}`,
          ]),
        ]),
  ]
}

/** Returns the id of a process, with the agent if the process is a sidecar. */
function nameOf({ process_id: id, agent }: GatewayProcess): string {
  return agent === null ? id : `${id} of agent ${agent}`
}

/** Returns the `Degraded` conditions of the pods. A problem that a user must resolve comes first. */
function podVerdicts({ pods, disconnected }: GatewayFacts, namespace: string): readonly Verdict[] {
  const { captureFailures, sharedAgents, notReady } = pods
  const verdicts: Verdict[] = []
  if (captureFailures.length > 0) {
    const failures = captureFailures.map(({ metadata, reason }) => `${keyOf({ metadata })}: ${reason}`)
    const text = `the traffic of governed pods cannot be captured, so their agents do not start: ${some(failures, '; ')}`
    verdicts.push(verdict('Degraded', 'True', ['CaptureFailed', text]))
  }
  if (sharedAgents.length > 0) {
    const text = `pods of several Gateways run as the same agent, but an agent belongs to one Gateway: ${some(sharedAgents, '; ')}; give one workload another agent name with the annotation chaperone.dev/agent`
    verdicts.push(verdict('Degraded', 'True', ['AgentShared', text]))
  }
  if (disconnected.length > 0) {
    const causes = some(causesOf(disconnected, namespace), '\n')
    const text = `the sidecars of governed pods have had no connection to the control plane for over 60 s: ${causes}`
    verdicts.push(verdict('Degraded', 'True', ['SidecarNotConnected', text]))
  }
  if (notReady.length > 0) {
    const text = `the sidecars of governed pods have not been ready for over 60 s: ${some(notReady)}`
    verdicts.push(verdict('Degraded', 'True', ['PodsNotReady', text]))
  }
  return verdicts
}

/**
 * Returns the causes with their pods. Omits the causes of pods in other namespaces, because a cause names
 * NetworkPolicies that readers of the Gateway may have no right to see. An Event on the pod shows the cause.
 */
function causesOf(disconnected: readonly Disconnected[], namespace: string): readonly string[] {
  const isOwn = (pod: string) => pod.startsWith(`${namespace}/`)
  const causes = disconnected
    .map(({ pods, cause }) => ({ pods: pods.filter(isOwn), cause }))
    .filter(({ pods }) => pods.length > 0)
    .map(({ pods, cause }) => `${some(pods)}: ${egressCauseText(cause)}`)
  const elsewhere = disconnected.flatMap(({ pods }) => pods.filter((pod) => !isOwn(pod)))
  if (elsewhere.length === 0) return causes
  return [...causes, `${some(elsewhere)}: Events SidecarNotConnected in their namespaces have the cause`]
}

function warningVerdict(processes: readonly GatewayProcess[]): Verdict | null {
  const warnings = [...new Set(processes.flatMap((process) => process.warnings))].sort()
  return warnings.length === 0 ? null : verdict('Degraded', 'True', ['Warnings', warnings.join(' ')])
}

function floorVerdict({ belowFloor }: GatewayFacts): Verdict {
  if (belowFloor.length === 0) return verdict('FloorApplied', 'False', ['AboveFloors', ABOVE_FLOORS])
  const text = `the minimum of this installation is in force instead of the spec: ${belowFloor.map(floorText).join('; ')}`
  return verdict('FloorApplied', 'True', ['BelowFloor', text])
}
