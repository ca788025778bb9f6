import { type ExpiringSecret, type Mint, MintError } from '../mint.ts'
import type { NarrowMint } from './github-app.ts'

/**
 * Creates the source of access tokens that have only the scopes that a request needs. `mint` requests a token with the
 * stored credential.
 */
export function createOAuth2NarrowMint(mint: Mint<ExpiringSecret>): NarrowMint {
  return async ({ need: { permissions }, ...request }) => {
    const { oauth2 } = request.credential
    if (oauth2 === undefined)
      throw new MintError(
        'The Connector has no field credential.oauth2, so no token was requested. Add the field to its manifest.',
      )
    const credential = { ...request.credential, oauth2: { ...oauth2, scopes: [...permissions] } }
    const minted = await mint({ ...request, credential, rotated: null })
    return { secret: minted.secret, lifetimeMs: minted.lifetimeMs, scope: permissions }
  }
}
