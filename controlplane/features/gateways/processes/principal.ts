import { ChaperoneError } from '../../../../core/errors.ts'
import type { Principal } from '../../../http/route.ts'

export type GatewayPrincipal = Extract<Principal, { kind: 'gateway' }>

export function gatewayOf(principal: Principal): GatewayPrincipal {
  if (principal.kind === 'gateway') return principal
  throw new ChaperoneError('unauthorized', { detail: "This request requires a gateway's enrolment token." })
}
