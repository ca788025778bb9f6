import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { covers } from '../../../core/wire/access/rights.ts'
import {
  ManifestsReply,
  ObjectParams,
  ProblemsBody,
  RemoveObjectReply,
} from '../../../core/wire/manifests.ts'
import {
  ChangeSetBody,
  ChangeSetReply,
  type FailingCredential,
  type GatewayProcess,
  KillRelayBody,
  KillRelayReply,
  NamespacesBody,
  NamespacesReply,
  OPERATOR_PATHS,
  OperatorState,
  PushBody,
  PushReply,
  StateQuery,
  SweepBody,
  SweepReply,
} from '../../../core/wire/operator/operator.ts'
import { KnownPods, type PodRef, PodsBody, PodsReply } from '../../../core/wire/operator/pods.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { type Route, type RouteInput, route } from '../../http/route.ts'
import type { KillRelay } from '../kill-switch/relay.ts'
import type { KillSwitch } from '../kill-switch/service.ts'
import type { PodReports } from '../pods/service.ts'
import type { Manifests } from './service.ts'
import { createStateWatch, type StateWatchDeps } from './state-watch.ts'

const OBJECT_LIMIT_BYTES = 2 * 1024 * 1024
const SWEEP_LIMIT_BYTES = 32 * 1024 * 1024

export type OperatorRouteDeps = {
  readonly manifests: Manifests
  readonly killSwitch: Pick<KillSwitch, 'effective'>
  readonly killRelay: KillRelay
  readonly podReports: PodReports
  /**
   * Returns the state of this replica: the version of the configuration that the replica read last, the gateway
   * processes and the refused pods.
   */
  readonly state: () => {
    readonly version: number
    readonly processes: readonly GatewayProcess[]
    readonly refusedPods: readonly PodRef[]
    readonly failingCredentials: readonly FailingCredential[]
  }
  readonly stateChanges: StateWatchDeps['changes']
}

/** Returns the routes that the operator calls, as specified in `core/wire/operator/operator.ts`. */
export function createOperatorRoutes(deps: OperatorRouteDeps): readonly Route[] {
  return [...objectRoutes(deps), ...installationRoutes(deps), ...replicaRoutes(deps), ...podRoutes(deps)]
}

function podRoutes({ podReports }: OperatorRouteDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: OPERATOR_PATHS.pods,
      auth: 'operator',
      summary: 'Reports pods with a sidecar: agent and Gateway of each, and pods whose object was deleted',
      body: PodsBody,
      bodyLimit: OBJECT_LIMIT_BYTES,
      response: PodsReply,
      handler: async ({ body }) => {
        await podReports.put(body.pods)
        return { ok: true as const }
      },
    }),
    route({
      method: 'GET',
      path: OPERATOR_PATHS.pods,
      auth: 'operator',
      summary: 'Lists the pods with a sidecar that the operator has reported and not yet reported as deleted',
      response: KnownPods,
      handler: async () => ({ pods: [...(await podReports.list())] }),
    }),
  ]
}

function replicaRoutes({ killSwitch, killRelay, state, stateChanges }: OperatorRouteDeps): readonly Route[] {
  const watch = createStateWatch({
    changes: stateChanges,
    read() {
      const { refusedPods, failingCredentials, version, processes } = state()
      return {
        version,
        processes,
        kills: killSwitch.effective(),
        refused_pods: refusedPods,
        failing_credentials: failingCredentials,
      }
    },
  })
  return [
    route({
      method: 'POST',
      path: OPERATOR_PATHS.kill,
      auth: 'operator',
      admits: ['unchecked'],
      summary:
        'Relays the kill switches of one object of the cluster: in force at once on the gateways of this replica, then stored',
      body: KillRelayBody,
      response: KillRelayReply,
      handler: async ({ body }) => killRelay.apply(body),
    }),
    route({
      method: 'GET',
      path: OPERATOR_PATHS.state,
      auth: 'operator',
      summary:
        'Returns the versions and kill states that gateway processes acknowledged to this replica; with `known`, once they changed',
      query: StateQuery,
      response: OperatorState,
      handler: async ({ query, raw }) => watch.next(query, closeOf(raw.reply)),
    }),
  ]
}

function closeOf({ raw }: RouteInput<unknown, unknown, unknown>['raw']['reply']): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => closed.abort())
  return closed.signal
}

function objectRoutes({ manifests }: OperatorRouteDeps): readonly Route[] {
  return [
    route({
      method: 'PUT',
      path: `${OPERATOR_PATHS.objects}/:kind/:namespace/:name`,
      auth: 'operator',
      summary: 'Applies one object of a manifest; a refusal states the reasons and corrections',
      params: ObjectParams,
      body: PushBody,
      bodyLimit: OBJECT_LIMIT_BYTES,
      response: PushReply,
      handler: async ({ params, body }) => {
        const { kind, metadata } = body.resource
        const isNamed = kind === params.kind && metadata.name === params.name
        if (!isNamed || (metadata.namespace ?? 'default') !== params.namespace) {
          throw new ChaperoneError('validation', {
            detail: 'The path and the body name different objects. Name the same object in both.',
          })
        }
        return manifests.put(body)
      },
    }),
    route({
      method: 'GET',
      path: `${OPERATOR_PATHS.objects}/:kind/:namespace/:name`,
      auth: 'operator',
      summary: 'Returns whether one object is in force, and how many gateways acknowledged it',
      params: ObjectParams,
      response: PushReply,
      handler: async ({ params }) => {
        const reply = await manifests.get(params)
        if (reply !== undefined) return reply
        const { kind, namespace, name } = params
        throw new ChaperoneError('not_found', {
          detail: `There is no ${kind} ${namespace}/${name}. Apply its manifest first.`,
        })
      },
    }),
    route({
      method: 'DELETE',
      path: `${OPERATOR_PATHS.objects}/:kind/:namespace/:name`,
      auth: 'operator',
      summary: 'Removes an object whose manifest was deleted',
      params: ObjectParams,
      response: RemoveObjectReply,
      handler: async ({ params }) => ({ removed: await manifests.remove(params) }),
    }),
  ]
}

function installationRoutes({ manifests, state }: OperatorRouteDeps): readonly Route[] {
  return [
    route({
      method: 'PUT',
      path: OPERATOR_PATHS.namespaces,
      auth: 'operator',
      summary:
        'Replaces the list of the namespaces of the cluster with their labels, by which Gateways admit namespaces',
      body: NamespacesBody,
      bodyLimit: SWEEP_LIMIT_BYTES,
      response: NamespacesReply,
      handler: async ({ body }) => ({ rebound: await manifests.namespaces(body.namespaces) }),
    }),
    route({
      method: 'POST',
      path: OPERATOR_PATHS.changes,
      auth: 'operator',
      summary: 'Applies objects that changed together as one version of the configuration',
      body: ChangeSetBody,
      bodyLimit: SWEEP_LIMIT_BYTES,
      response: ChangeSetReply,
      handler: async ({ body }) => manifests.change(body),
    }),
    route({
      method: 'POST',
      path: OPERATOR_PATHS.sweep,
      auth: 'operator',
      summary:
        'Removes the objects of this source that the list omits, and returns the listed objects that are not stored',
      body: SweepBody,
      bodyLimit: SWEEP_LIMIT_BYTES,
      response: SweepReply,
      handler: async ({ body }) => manifests.sweep(body),
    }),
    route({
      method: 'POST',
      path: '/api/operator/problems',
      auth: 'operator',
      summary: 'Replaces the stored list of problems of manifest files, by file and line',
      body: ProblemsBody,
      bodyLimit: OBJECT_LIMIT_BYTES,
      response: Ok,
      handler: async ({ body }) => {
        await manifests.problems(body.source, body.problems)
        return { ok: true as const }
      },
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/manifests',
      auth: 'manifests/get',
      isNamespaced: true,
      summary: 'Lists objects of manifests, which version of each is in force, and files with problems',
      response: ManifestsReply,
      handler: async ({ namespaces }) => {
        const isShown = ({ gateway }: GatewayProcess) => covers(namespaces, namespaceOf(gateway) || null)
        const processes = state().processes.filter(isShown)
        return { ...(await manifests.list(namespaces)), in_force: inForce(processes) }
      },
    }),
  ]
}

function inForce(processes: readonly GatewayProcess[]): Record<string, number | null> {
  const versions: Record<string, number | null> = {}
  for (const { gateway, covered_version: covered } of processes) {
    const others = gateway in versions ? versions[gateway] : covered
    versions[gateway] = covered === null || others == null ? null : Math.min(others, covered)
  }
  return versions
}
