import { type GrantObject, GrantObjects } from '../../core/wire/operator/grants.ts'
import {
  type ChangeSetBody,
  ChangeSetReply,
  type KillRelayBody,
  KillRelayReply,
  type NamespacesBody,
  NamespacesReply,
  OPERATOR_PATHS,
  OperatorState,
  type PushBody,
  PushReply,
  STATE_WAIT_MS,
  type SweepBody,
  SweepReply,
} from '../../core/wire/operator/operator.ts'
import { type KnownPod, KnownPods, type PodIdentityReport } from '../../core/wire/operator/pods.ts'
import type { ControlPlaneHttp, Replica } from './control-plane-http.ts'

/**
 * Typed calls of the operator to the control plane. Every call rejects with `not_ready` while the control plane cannot
 * be reached or answers 401, 429 or 5xx (worth repeating), and with `validation` when it refuses the call (not worth
 * repeating).
 */
export type ControlPlaneClient = {
  put(body: PushBody, signal?: AbortSignal): Promise<PushReply>
  /** Pushes a change set, which comes into force as one version. */
  change(body: ChangeSetBody, signal?: AbortSignal): Promise<ChangeSetReply>
  /** Removes one object. Does nothing when the object does not exist. */
  remove(object: ObjectName, signal?: AbortSignal): Promise<void>
  /** Removes all objects of the source that the body does not list as present. */
  sweep(body: SweepBody, signal?: AbortSignal): Promise<SweepReply>
  /** Replaces the control plane's list of the cluster's namespaces. */
  putNamespaces(namespaces: NamespacesBody['namespaces'], signal?: AbortSignal): Promise<NamespacesReply>
  putPods(pods: readonly PodIdentityReport[], signal?: AbortSignal): Promise<void>
  /** Returns the pods that the control plane counts as existing. */
  knownPods(signal?: AbortSignal): Promise<readonly KnownPod[]>
  /**
   * Returns the grants in force as Permissions. Rejects with `validation` and status 404 for an older control plane.
   */
  grants(signal?: AbortSignal): Promise<readonly GrantObject[]>
  /** Reads the state of one replica. With `known`, the reply waits for a state of another revision (long poll). */
  state(replica: Replica, signal?: AbortSignal, known?: string): Promise<OperatorState>
  /**
   * Reads the kill switches of one replica. `known` works as for `state`, with the revision of an earlier reply to
   * `kills`.
   */
  kills(replica: Replica, signal?: AbortSignal, known?: string): Promise<OperatorState>
  /** Sends a kill switch to one replica. */
  kill(replica: Replica, body: KillRelayBody, signal?: AbortSignal): Promise<KillRelayReply>
}

export type ObjectName = { readonly kind: string; readonly namespace: string; readonly name: string }

/**
 * Time limit in milliseconds of a call that relays a kill switch. The control plane waits up to 2 s for the
 * acknowledgements of gateways.
 */
const KILL_TIMEOUT_MS = 5_000
const STATE_TIMEOUT_MS = 5_000
/**
 * Time limit in milliseconds of a call with a change set. The control plane runs the tests of every policy in
 * the set.
 */
const CHANGE_TIMEOUT_MS = 60_000

export function createControlPlaneClient({ call }: Pick<ControlPlaneHttp, 'call'>): ControlPlaneClient {
  async function read(replica: Replica, { query, ...limits }: StateRead): Promise<OperatorState> {
    const { known = '', only = '' } = query
    const given = Object.entries({ known, only }).filter(([, value]) => value !== '')
    const path = `${OPERATOR_PATHS.state}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`
    const timeoutMs = STATE_TIMEOUT_MS + (known === '' ? 0 : STATE_WAIT_MS)
    return OperatorState.parse(await call({ method: 'GET', path, replica, timeoutMs, ...limits }))
  }

  return {
    async put(body, signal) {
      const { kind, metadata } = body.resource
      const { namespace = 'default', name } = metadata
      const path = pathOf({ kind, namespace, name })
      return PushReply.parse(await call({ method: 'PUT', path, body, ...withSignal(signal) }))
    },
    async change(body, signal) {
      const { changes: path } = OPERATOR_PATHS
      const reply = call({ method: 'POST', path, body, timeoutMs: CHANGE_TIMEOUT_MS, ...withSignal(signal) })
      return ChangeSetReply.parse(await reply)
    },
    async remove(object, signal) {
      await call({ method: 'DELETE', path: pathOf(object), ...withSignal(signal) })
    },
    async sweep(body, signal) {
      const reply = await call({ method: 'POST', path: OPERATOR_PATHS.sweep, body, ...withSignal(signal) })
      return SweepReply.parse(reply)
    },
    async putNamespaces(namespaces, signal) {
      const body = { namespaces }
      const path = OPERATOR_PATHS.namespaces
      return NamespacesReply.parse(await call({ method: 'PUT', path, body, ...withSignal(signal) }))
    },
    async putPods(pods, signal) {
      await call({ method: 'POST', path: OPERATOR_PATHS.pods, body: { pods }, ...withSignal(signal) })
    },
    async knownPods(signal) {
      return KnownPods.parse(await call({ method: 'GET', path: OPERATOR_PATHS.pods, ...withSignal(signal) }))
        .pods
    },
    async grants(signal) {
      const reply = await call({ method: 'GET', path: OPERATOR_PATHS.grants, ...withSignal(signal) })
      return GrantObjects.parse(reply).grants
    },
    state: (replica, signal, known) => read(replica, { ...withSignal(signal), query: { known } }),
    kills: (replica, signal, known) =>
      read(replica, { ...withSignal(signal), query: { only: 'kills', known } }),
    async kill(replica, body, signal) {
      const { kill: path } = OPERATOR_PATHS
      const reply = call({
        method: 'POST',
        path,
        body,
        replica,
        timeoutMs: KILL_TIMEOUT_MS,
        ...withSignal(signal),
      })
      return KillRelayReply.parse(await reply)
    },
  }
}

type StateRead = {
  readonly signal?: AbortSignal
  readonly query: { readonly known?: string | undefined; readonly only?: 'kills' }
}

function pathOf({ kind, namespace, name }: ObjectName): string {
  return `${OPERATOR_PATHS.objects}/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}
