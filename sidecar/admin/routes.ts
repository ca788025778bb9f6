import type { ControlPlane } from '../control/control-plane.ts'
import type { Cancellations } from '../control/hosted-work/cancellations.ts'
import type { KillState } from '../control/kill-switch/kill-state.ts'
import type { Events } from '../events.ts'
import type { Metrics } from '../metrics.ts'
import type { AgentPorts } from './agent-ports.ts'
import type { ApiRoute } from './api-route.ts'
import type { PortKeys } from './port-keys.ts'
import type { RecentRecords } from './recent-records.ts'
import { agentRoutes } from './routes-agents.ts'
import { forwardRoutes } from './routes-forward.ts'
import { killRoutes } from './routes-kill.ts'
import { stateRoutes } from './routes-state.ts'
import type { GatewayView } from './view.ts'

export type InternalRoutesDeps = {
  readonly control: ControlPlane
  readonly view: GatewayView
  readonly metrics: Metrics
  readonly recent: RecentRecords
  readonly events: Events
  readonly kill: KillState
  readonly cancellations: Pick<Cancellations, 'begin'>
  readonly agentPorts: AgentPorts
  readonly portKeys: PortKeys
  readonly caPem: () => string
  readonly challenge: readonly ApiRoute[]
}

const CHANGE_MS = 500
const REGISTER_MS = 2_000

/** Returns all routes of the internal API. */
export function internalRoutes(deps: InternalRoutesDeps): readonly ApiRoute[] {
  const { control, view, metrics, recent, events, kill, cancellations } = deps
  const { commands, waits, snapshots } = control
  const version = () => snapshots.current()?.version ?? null
  return [
    ...deps.challenge,
    ...forwardRoutes({
      commands,
      version,
      untilNewer: (before) => waits.until(() => version() !== before, CHANGE_MS),
    }),
    ...killRoutes({ forwarding: control.killForwarding, kill, cancellations }),
    ...agentRoutes({
      commands,
      ports: deps.agentPorts,
      portKeys: deps.portKeys,
      caPem: deps.caPem,
      snapshot: snapshots.current,
      activeByAgent: events.activeByAgent,
      untilKnown: (name) =>
        waits.until(() => snapshots.current()?.agentsByName.has(name) === true, REGISTER_MS),
    }),
    ...stateRoutes({
      health: view.health,
      status: view.status,
      recent,
      scrape: () => metrics.scrape(view.gauges()),
      internalMetrics: () => metrics.internal(view.gauges()),
    }),
  ]
}
