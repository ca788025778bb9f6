import * as z from 'zod'
import { PatternSchema } from '../action-patterns.ts'
import { described } from '../described.ts'
import { httpUrl } from '../fields.ts'

/** Scope token of RFC 6749, section 3.3. */
const scope = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope without blanks, such as repo.read')

const ScopesOfAction = z.strictObject({
  actionPattern: described(
    PatternSchema,
    'Action name, or prefix of action names with `*` at the end. Exact names take precedence over prefixes, and longer prefixes over shorter ones.',
    'generic.get',
  ),
  scopes: described(z.array(scope).min(1).max(16), 'Scopes of the token for requests with these actions.', [
    'orders.read',
  ]),
})

/** Settings for minting access tokens at a token endpoint, with the stored secret (RFC 6749, RFC 8693). */
export const OAuth2Spec = z.strictObject({
  tokenUrl: described(
    httpUrl,
    'Token endpoint of the authorization server. It must use https; an installation on one machine also accepts http to a loopback address.',
    'https://login.example.com/oauth2/token',
  ),
  grant: described(
    z.enum(['client_credentials', 'refresh_token', 'token_exchange']).default('client_credentials'),
    'OAuth grant with which the control plane gets the access token. The stored secret is the client secret, the refresh token or the subject token, or a JSON object with several of `client_secret`, `refresh_token` and `subject_token`.',
    'client_credentials',
  ),
  clientId: described(z.string().min(1).max(256), 'Id of the client.', 'chaperone'),
  clientAuthentication: described(
    z.enum(['basic', 'post', 'none']).default('basic'),
    'How the client secret is sent: `basic` in the header Authorization, `post` in the form, `none` for a public client.',
    'post',
  ),
  scopes: described(z.array(scope).max(64).default([]), 'Scopes of the access token.', ['repo.read']),
  scopesByAction: described(
    z.array(ScopesOfAction).max(32).default([]),
    'Scopes of the token by action; `scopes` must list all of them. A request is sent with a token that has only the scopes of its actions. If no pattern matches one of the actions, the request is sent with the token of the Connector.',
    [{ actionPattern: 'generic.get', scopes: ['orders.read'] }],
  ),
  audience: described(
    z.string().min(1).max(512).optional(),
    'Value of the parameter `audience`, which some servers need.',
    'https://api.example.com',
  ),
  subjectTokenType: described(
    z.string().min(1).max(256).default('urn:ietf:params:oauth:token-type:access_token'),
    'Type of the subject token of the grant `token_exchange`.',
    'urn:ietf:params:oauth:token-type:jwt',
  ),
})

export type OAuth2Spec = z.infer<typeof OAuth2Spec>
