import type { FastifyRequest } from 'fastify'
import { TOKEN_AUDIENCE } from '../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { PROCESS_HEADER, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import type { OwnProcesses } from '../../features/gateways/service.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'
import type { Principal, SidecarPrincipal } from '../route.ts'

export type GatewayPrincipal = Extract<Principal, { kind: 'gateway' }>

/** Authenticates gateways and the sidecars of pods. */
export type IdentifyGateway = {
  gatewayToken(token: string, isUrgent: boolean, address?: string): Promise<KnownGateway | undefined>
  /** Checks that processes belong to the caller. Rejects with `forbidden` for processes of another gateway or pod. */
  readonly ownProcesses: OwnProcesses
  /** Authenticates the sidecar of a pod by its projected ServiceAccount token. Null outside a cluster. */
  readonly podToken?: IdentifyPod | null
  /**
   * Bounds the rate of new streams. Throws `overloaded` above the rate. Only streams of authenticated callers count,
   * so that other callers cannot use up the rate. Default: no limit.
   */
  readonly admitStream?: () => void
}
type KnownGateway = { readonly id: string; readonly name: string } & Pick<GatewayPrincipal, 'restriction'>
export type PodPrincipal = SidecarPrincipal & { readonly gatewayId: string; readonly gatewayName: string }

/**
 * Authenticates a pod by its token. Returns undefined for a token that belongs to no pod. For a pod that the operator
 * has not reported, rejects with `not_ready` for 30 s, and afterwards with `forbidden`.
 */
export type IdentifyPod = (token: string, from: TokenPresenter) => Promise<PodPrincipal | undefined>

/**
 * Properties of the call that presents a token. `isFresh`: true to require a new TokenReview. `isUrgent`: true to
 * resolve within `URGENT_MS`, if necessary with the last review. `address`: client address, by which unknown tokens
 * are rate limited.
 */
export type TokenPresenter = {
  readonly isFresh: boolean
  readonly isUrgent?: boolean
  readonly address: string
}

/**
 * Context of a gateway's call. `isUrgent`: true to resolve within `URGENT_MS`. If a check has no answer in this time,
 * the principal has the restriction `unchecked`.
 */
type GatewayCall = { readonly identify: IdentifyGateway; readonly isUrgent: boolean }

/**
 * Authenticates a gateway by its enrolment token, or the sidecar of a pod by its ServiceAccount token. Rejects with
 * `unauthorized` for other callers, and with `forbidden` when the call names a process of another gateway or pod.
 */
export async function authenticateGateway(
  request: FastifyRequest,
  token: string | undefined,
  { identify, isUrgent }: GatewayCall,
): Promise<GatewayPrincipal> {
  const found = token === undefined ? undefined : await find(request, token, { identify, isUrgent })
  if (found === undefined) {
    const what = identify.podToken == null ? '' : ", or a pod's projected ServiceAccount token"
    const detail = `This request requires a gateway's enrolment token${what} (\`Authorization: Bearer …\`).`
    throw new ChaperoneError('unauthorized', { detail })
  }
  const processId = request.headers[PROCESS_HEADER]
  if (typeof processId !== 'string' || processId === '' || processId.length > 128) {
    throw new ChaperoneError('malformed_request', {
      detail: 'The header X-Process-Id must have the id of the calling process, with at most 128 characters.',
    })
  }
  if (isStream(request)) identify.admitStream?.()
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
  // A new stream requires a new TokenReview. Other calls use the cached review.
  const pod = await podToken(token, { isFresh: isStream(request), isUrgent, address: request.ip })
  return pod && { gatewayId: pod.gatewayId, name: pod.gatewayName, sidecar: pod }
}

function isStream({ url }: FastifyRequest): boolean {
  return url.split('?')[0] === SYNC_PATHS.stream
}

/**
 * Returns whether the audience in the unverified claims of a token is the control plane. No TokenReview is sent for a
 * token with another audience.
 */
export function hasOurAudience(token: string): boolean {
  const parts = token.split('.')
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
