import type { FastifyRequest } from 'fastify'
import { TOKEN_AUDIENCE } from '../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { PROCESS_HEADER, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import type { OwnProcesses } from '../../features/gateways/process-owners.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'
import type { Principal, SidecarPrincipal } from '../route.ts'

export type GatewayPrincipal = Extract<Principal, { kind: 'gateway' }>

/** Who a gateway's token belongs to; undefined = nobody. */
export type IdentifyGateway = {
  gatewayToken(token: string, isUrgent: boolean, address?: string): Promise<KnownGateway | undefined>
  /** Throws `forbidden` for processes of another gateway or pod. */
  readonly ownProcesses: OwnProcesses
  /** The sidecar of a pod, by its projected ServiceAccount token. Null where there is no cluster to ask. */
  readonly podToken?: IdentifyPod | null
}
type KnownGateway = { readonly id: string; readonly name: string } & Pick<GatewayPrincipal, 'restriction'>
export type PodPrincipal = SidecarPrincipal & { readonly gatewayId: string; readonly gatewayName: string }

/**
 * Identity comes from the token alone. `isFresh`: the cluster reviews the token, whatever is cached. Undefined for a
 * token of no pod; throws `not_ready` and later `forbidden` for a pod that the operator has not reported.
 */
export type IdentifyPod = (token: string, from: TokenPresenter) => Promise<PodPrincipal | undefined>

/**
 * `address`: of the caller, which limits how many unknown tokens it may present. `isUrgent`: answer soon, if need be by the
 * last review of the token.
 */
export type TokenPresenter = {
  readonly isFresh: boolean
  readonly isUrgent?: boolean
  readonly address: string
}

/** `isUrgent`: answer soon, if need be with a principal that is `unchecked`. */
type GatewayCall = { readonly identify: IdentifyGateway; readonly isUrgent: boolean }

/** A gateway with an enrolment token, or the sidecar of a pod. Throws 401 for neither, 403 for a pod that may not be what it says. */
export async function authenticateGateway(
  request: FastifyRequest,
  token: string | undefined,
  { identify, isUrgent }: GatewayCall,
): Promise<GatewayPrincipal> {
  const found = token === undefined ? undefined : await find(request, token, { identify, isUrgent })
  if (found === undefined) {
    const what = identify.podToken == null ? '' : ", or a pod's projected ServiceAccount token"
    const detail = `This needs a gateway's enrolment token${what} (\`Authorization: Bearer …\`)`
    throw new ChaperoneError('unauthorized', { detail })
  }
  const processId = request.headers[PROCESS_HEADER]
  if (typeof processId !== 'string' || processId === '' || processId.length > 128) {
    throw new ChaperoneError('malformed_request', { detail: 'X-Process-Id must name the calling process' })
  }
  const owned = identify.ownProcesses(found, [processId], isUrgent)
  await (isUrgent ? withinMs(owned, URGENT_MS) : owned)
  return { kind: 'gateway', ...found, processId }
}

async function find(
  request: FastifyRequest,
  token: string,
  { identify: { gatewayToken, podToken = null }, isUrgent }: GatewayCall,
): Promise<Omit<GatewayPrincipal, 'kind' | 'processId'> | undefined> {
  if (podToken === null || !hasOurAudience(token)) {
    const gateway = await gatewayToken(token, isUrgent, request.ip)
    if (gateway === undefined) return undefined
    const { id, ...known } = gateway
    return { ...known, gatewayId: id, sidecar: null }
  }
  // The cluster reviews the token for each stream; the calls beside it use the cached review.
  const isFresh = request.url.split('?')[0] === SYNC_PATHS.stream
  const pod = await podToken(token, { isFresh, isUrgent, address: request.ip })
  return pod && { gatewayId: pod.gatewayId, name: pod.gatewayName, sidecar: pod }
}

/** A look at a token before the cluster is asked about it: noise costs nothing, and proves nothing either. */
export function hasOurAudience(token: string): boolean {
  const parts = token.split('..')
  if (parts.length !== 3 || token.length > 8_192) return false
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'))
    const audience: unknown =
      typeof claims === 'object' && claims !== null ? Reflect.get(claims, 'aud') : null
    return audience === TOKEN_AUDIENCE || (Array.isArray(audience) && audience.includes(TOKEN_AUDIENCE))
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}
