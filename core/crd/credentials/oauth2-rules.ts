import type { SpecRule } from '../spec-rules.ts'

export type OAuth2Shape = {
  readonly grant: string
  readonly scopes: readonly string[]
  readonly scopesByAction: ReadonlyArray<{ readonly scopes: readonly string[] }>
}

type CredentialShape = { readonly credential?: { readonly oauth2?: OAuth2Shape | undefined } | undefined }

/** Rules for Connectors whose access tokens the control plane mints with a stored secret (OAuth 2.0). */
export const OAUTH2_RULES: ReadonlyArray<SpecRule<CredentialShape>> = [
  {
    cel: '!has(self.credential) || !has(self.credential.oauth2) || self.credential.oauth2.scopesByAction.all(rule, rule.scopes.all(scope, scope in self.credential.oauth2.scopes))',
    path: ['credential', 'oauth2', 'scopesByAction'],
    message:
      'must have only scopes that the field scopes of the Connector lists; add the missing scopes to that field',
    holds: ({ credential }) =>
      credential?.oauth2?.scopesByAction.every((rule) =>
        rule.scopes.every((scope) => credential.oauth2?.scopes.includes(scope)),
      ) ?? true,
  },
  {
    // Tokens with different scopes need several token requests. Each request may replace the stored refresh token,
    // which the other requests need.
    cel: "!has(self.credential) || !has(self.credential.oauth2) || self.credential.oauth2.grant != 'refresh_token' || self.credential.oauth2.scopesByAction.size() == 0",
    path: ['credential', 'oauth2', 'scopesByAction'],
    message: 'must not be set for grant refresh_token; use another grant, or remove this field',
    holds: ({ credential }) =>
      credential?.oauth2?.grant !== 'refresh_token' || credential.oauth2.scopesByAction.length === 0,
  },
]
