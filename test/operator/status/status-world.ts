import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { GatewayProcess, OperatorState, PushReply } from '../../../core/wire/operator/operator.ts'
import type { CustomResource, ResourceStatus } from '../../../operator/cluster/custom-resources.ts'
import { createGatewayStates } from '../../../operator/control/gateway-states.ts'
import type { GatewayFacts, StatusFacts } from '../../../operator/status/status-facts.ts'

export const metadata = { namespace: 'team', name: 'prod', uid: 'u', resourceVersion: '7', generation: 3 }
export const gateway = (spec: object = {}, status?: object) =>
  ({
    metadata,
    spec: GatewaySpec.parse(spec),
    ...(status === undefined ? {} : { status }),
  }) as CustomResource<'Gateway'>
export const connector = (spec: object) =>
  ({ metadata, spec: ConnectorSpec.parse(spec) }) as CustomResource<'Connector'>
export const process = (changes: Partial<GatewayProcess> = {}) =>
  GatewayProcess.parse({
    ...{ gateway: 'team/prod', process_id: 'p1', covered_version: 10, has_kill_state: true, rejected: null },
    ...changes,
  })
export const state = (processes: GatewayProcess[], kills: OperatorState['kills'] = []) =>
  OperatorState.parse({ version: 10, kills, processes })
/** The state of `team/prod`. */
export const ofProd = (...given: Parameters<typeof state>) => {
  const states = createGatewayStates()
  states.put(state(...given))
  return states.of('team/prod')
}
export const reply = (changes: object = {}) =>
  PushReply.parse({ accepted: true, reasons: [], version: 10, gateways: ['team/prod'], ...changes })
const PODS = {
  ...{ governed: 0, ready: 0, cooperative: 0, isolatedIn: [], changingUser: 0, unknownUser: 0 },
  seccompProfiles: new Map(),
  ...{ notReady: [], captureFailures: [], sharedAgents: [], admittingInbound: new Set<string>() },
}
export const facts = (
  changes: Partial<StatusFacts> = {},
  { pods = {}, ...gatewayChanges }: Partial<Omit<GatewayFacts, 'pods'>> & { pods?: object } = {},
): StatusFacts => ({
  ...{
    reply: reply(),
    failure: null,
    credential: null,
    credentialError: null,
    isStale: false,
    undeclared: [],
  },
  gateway: {
    state: ofProd([]),
    bypassing: [],
    disconnected: [],
    notIsolatedIn: [],
    belowFloor: [],
    pods: { ...PODS, ...pods },
    ...gatewayChanges,
  },
  now: '2026-01-01T00:00:00Z',
  ...changes,
})
export const ofGateway = (changes: Parameters<typeof facts>[1]) => facts({}, changes)
export const messageOf = (status: ResourceStatus, wanted: string) =>
  status.conditions?.find(({ type }) => type === wanted)?.message
/** The conditions as `Type=Status/Reason`. */
export const conditionsOf = (status: ResourceStatus) =>
  status.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`)
