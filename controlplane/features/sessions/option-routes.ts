import { AuthOptionsReply, RedeemOwnerLinkBody } from '../../../core/wire/access/sessions.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { hasCredentials } from '../../http/auth/authenticate.ts'
import { userOf } from '../../http/auth/user-principal.ts'
import { type Route, route } from '../../http/route.ts'
import type { Oidc } from '../oidc/service.ts'
import type { OwnerLinks } from '../users/owner-links/service.ts'

export type AuthOptionsDeps = {
  readonly oidc: Pick<Oidc, 'name'> | null
  readonly isPasswordOn: boolean
  readonly ownerLinks: Pick<OwnerLinks, 'redeem'>
}

/**
 * Creates the route that lists the enabled authentication modes, and the route by which a signed-in user redeems an
 * owner link and becomes the owner of the installation.
 */
export function createAuthOptionRoutes({
  oidc,
  isPasswordOn,
  ownerLinks,
}: AuthOptionsDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/auth/options',
      auth: 'none',
      summary: 'Returns the authentication modes of users: password, identity provider, or both',
      response: AuthOptionsReply,
      handler: async ({ raw }) => ({
        password: isPasswordOn,
        identity_provider: oidc === null ? null : { name: oidc.name },
        has_credentials: hasCredentials(raw.request),
      }),
    }),
    route({
      method: 'POST',
      path: '/api/auth/owner',
      auth: 'session',
      givesAccess: true,
      summary:
        'Makes the signed-in user the first owner, with the token of the link with which the first owner registers',
      body: RedeemOwnerLinkBody,
      response: Ok,
      handler: async ({ principal, body }) => {
        await ownerLinks.redeem(userOf(principal), body.setup_token)
        return { ok: true as const }
      },
    }),
  ]
}
