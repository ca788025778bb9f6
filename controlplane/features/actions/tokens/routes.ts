import {
  JwksReply,
  RotateSigningKeyBody,
  RotateSigningKeyReply,
  VerifyBody,
  VerifyReply,
} from '../../../../core/wire/v1.ts'
import { type Route, route } from '../../../http/route.ts'
import { actorOf } from '../../audit/actor.ts'
import type { TokenKeys } from './keys.ts'
import type { Verification } from './verification.ts'

export type TokenRoutesDeps = { readonly verification: Verification; readonly tokenKeys: TokenKeys }

const VERIFY_LIMIT_BYTES = 128 * 1024

/** Creates the routes with which the receiver of a decision token verifies the token. */
export function createTokenRoutes({ verification, tokenKeys }: TokenRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/tokens/verify',
      auth: 'none',
      summary: 'Verifies a decision token and uses it; a token is valid once',
      body: VerifyBody,
      bodyLimit: VERIFY_LIMIT_BYTES,
      response: VerifyReply,
      statuses: [429],
      handler: async ({ body, raw }) =>
        verification.verify({
          token: body.decision_token,
          actionRequestId: body.action_request_id,
          address: raw.request.ip,
        }),
    }),
    route({
      method: 'GET',
      path: '/.well-known/jwks.json',
      auth: 'none',
      summary: 'Returns the public keys of decision tokens (RFC 7517)',
      response: JwksReply,
      handler: async () => ({ keys: (await tokenKeys.all()).map((key) => key.publicJwk) }),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/signing-keys',
      auth: 'settings/update',
      summary: 'Rotates the key that signs decision tokens; tokens signed before stay valid',
      body: RotateSigningKeyBody,
      response: RotateSigningKeyReply,
      handler: async ({ principal }) => ({
        ok: true as const,
        kid: (await tokenKeys.rotate(actorOf(principal))).kid,
      }),
    }),
  ]
}
