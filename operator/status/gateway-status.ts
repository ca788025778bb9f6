import type { ConditionReason } from '../../core/crd/conditions.ts'
import { floorText } from '../../core/crd/floors.ts'
import { killScopesOf } from '../../core/crd/kill-scopes.ts'
import {
  concernsGateway,
  gatewaySource,
  isConfigMapSource,
} from '../../core/decision/kill-switch/kill-reach.ts'
import { matchKill } from '../../core/decision/kill-switch/kill-switch.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { GatewayProcess } from '../../core/wire/operator/operator.ts'
import type { CustomResource } from '../cluster/custom-resources.ts'
import { keyOf } from '../kube/objects.ts'
import { type Verdict, verdict } from './conditions.ts'
import type { StatusFacts } from './status-facts.ts'

export type GatewayPart = {
  readonly verdicts: readonly Verdict[]
  /** `n of m` processes with the kill switch in force; null without an active kill switch. */
  readonly killed: string | null
}

/** Returns the part of the status that only a Gateway has. */
export function gatewayPart(gateway: CustomResource<'Gateway'>, facts: StatusFacts): GatewayPart {
  const name = keyOf(gateway)
  const processes = facts.state?.processes.filter((process) => process.gateway === name) ?? []
  const killSwitch = killSwitchOf(gateway, name, facts.state?.kills ?? [])
  const stopped = processes.filter((process) => process.has_kill_state).length
  const killed = killSwitch === null ? null : `${stopped} of ${processes.length}`
  return {
    killed,
    verdicts: [
      ...(killSwitch === null || killed === null ? [] : [killVerdict(killSwitch, name, killed)]),
      ...bypassVerdicts(gateway, facts, processes),
      ...podVerdicts(facts),
      ...warningVerdicts(processes),
      ...floorVerdicts(facts),
    ],
  }
}

/**
 * Returns the active kill switch of a Gateway: one that is in force, or one that this object activates and the control
 * plane has not confirmed yet.
 */
function killSwitchOf(
  { spec }: CustomResource<'Gateway'>,
  name: string,
  kills: readonly KillEntry[],
): KillEntry | null {
  const own = gatewaySource(name)
  const concerning = kills.filter(({ source }) => concernsGateway(source, name))
  const found = matchKill(concerning, { gateway: name, agent: null, agentId: null, connectors: [] })
  if (found !== null) return found
  const narrow = concerning.find(({ source }) => source === own)
  if (narrow !== undefined) return narrow
  if (spec.killSwitch?.active !== true) return null
  const { reason = '' } = spec.killSwitch
  return { scope: killScopesOf(spec.killSwitch).join(', '), source: own, reason, since: '' }
}

function killVerdict({ source, scope, reason }: KillEntry, name: string, killed: string): Verdict {
  const text = `kill switch in force on ${killed} gateway processes (${scope}, by ${source}): ${reason}`
  return verdict('KillSwitchActive', 'True', [killReasonOf(source, name), text])
}

function killReasonOf(source: string, name: string): ConditionReason<'KillSwitchActive'> {
  if (source === gatewaySource(name)) return 'Gateway'
  return isConfigMapSource(source) ? 'Emergency' : 'Elsewhere'
}

const NAMED = 5

function bypassVerdicts(
  { spec }: CustomResource<'Gateway'>,
  { pods, bypassing }: StatusFacts,
  processes: readonly GatewayProcess[],
): readonly Verdict[] {
  const broken = processes.filter(({ conditions }) => conditions.includes('BypassDetected'))
  return [
    ...possible(spec.interception === 'proxyEnv', pods),
    ...detected(
      broken.map((process) => process.process_id),
      bypassing,
    ),
  ]
}

/**
 * Returns the `BypassDetected` condition. A condition has one reason; a pod without a sidecar is more severe than a
 * broken capture.
 */
function detected(broken: readonly string[], bypassing: readonly string[]): readonly Verdict[] {
  const some = (names: readonly string[]) => [...names].sort().slice(0, NAMED).join(', ')
  if (bypassing.length > 0) {
    const text = `${bypassing.length} pods that should be governed run without a sidecar: ${some(bypassing)}; restart them`
    return [verdict('BypassDetected', 'True', ['PodWithoutSidecar', text])]
  }
  if (broken.length === 0) return []
  const text = `the traffic capture of ${broken.length} sidecars is broken: ${some(broken)}; restart their pods`
  return [verdict('BypassDetected', 'True', ['CaptureBroken', text])]
}

/** Returns the `BypassPossible` condition. A condition has one reason; the widest bypass comes first. */
function possible(isProxyEnv: boolean, pods: StatusFacts['pods']): readonly Verdict[] {
  const { cooperative = 0, changingUser = 0 } = pods ?? {}
  if (isProxyEnv) {
    const text =
      'spec.interception is proxyEnv: programs that ignore the proxy variables are not governed; use transparent'
    return [verdict('BypassPossible', 'True', ['Cooperative', text])]
  }
  if (cooperative > 0) {
    const text = `${cooperative} pods were injected while spec.interception was proxyEnv; restart them`
    return [verdict('BypassPossible', 'True', ['PodsCooperative', text])]
  }
  if (changingUser === 0) return []
  const text = `${changingUser} pods run programs that change their user, for which governed containers have no capabilities; granting the capabilities would allow a bypass of the capture. Set securityContext.runAsUser (kubectl chaperone doctor POD names the containers)`
  return [verdict('BypassPossible', 'True', ['PodsChangeUser', text])]
}

/**
 * Returns the `Degraded` condition of the pods. A condition has one reason; a problem that a user must resolve comes
 * first.
 */
function podVerdicts({ pods, sharedAgents }: StatusFacts): readonly Verdict[] {
  if (sharedAgents.length > 0) {
    const text = `pods of several Gateways run as the same agent, but an agent belongs to one Gateway: ${[...sharedAgents].sort().slice(0, NAMED).join('; ')}; give one workload another name with the annotation chaperone.dev/agent`
    return [verdict('Degraded', 'True', ['AgentShared', text])]
  }
  if (pods === null || pods.ready === pods.injected) return []
  const text = `the sidecars of ${pods.injected - pods.ready} of ${pods.injected} governed pods are not ready`
  return [verdict('Degraded', 'True', ['PodsNotReady', text])]
}

function warningVerdicts(processes: readonly GatewayProcess[]): readonly Verdict[] {
  const warnings = [...new Set(processes.flatMap((process) => process.warnings))].sort()
  return warnings.length === 0 ? [] : [verdict('Degraded', 'True', ['Warnings', warnings.join(' ')])]
}

function floorVerdicts({ belowFloor }: StatusFacts): readonly Verdict[] {
  if (belowFloor.length === 0) return []
  const text = `the floor is in force instead of the spec: ${belowFloor.map(floorText).join('; ')}`
  return [verdict('FloorApplied', 'True', ['BelowFloor', text])]
}
