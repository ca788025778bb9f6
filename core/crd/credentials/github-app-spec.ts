import * as z from 'zod'
import { described } from '../described.ts'
import { httpUrl } from '../fields.ts'

/**
 * Settings for minting installation access tokens with the private key of a GitHub App. A token is valid for an hour.
 */
export const GithubAppSpec = z.strictObject({
  appId: described(
    z
      .string()
      .max(64)
      .regex(/^[A-Za-z0-9.]+$/, 'the client id or the number of the app'),
    'Client id or number of the app.',
    'Iv23liAcmeChaperone',
  ),
  installationId: described(
    z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    'Installation ID of the app in an organisation or a user account.',
    4_815_162,
  ),
  apiUrl: described(
    httpUrl.default('https://api.github.com'),
    'Address of the API. It must use https; an installation on one machine also accepts http to a loopback address.',
    'https://git.example.com/api/v3',
  ),
  repositories: described(
    z
      .array(
        z
          .string()
          .min(1)
          .max(100)
          .regex(/^[A-Za-z0-9._-]+$/, 'the name of a repository, without its owner'),
      )
      .max(500)
      .default([]),
    'Repositories that the token can access, without their owner. If absent, all repositories of the installation.',
    ['site'],
  ),
  permissions: described(
    z
      .array(
        z
          .string()
          .max(100)
          .regex(/^[a-z_]+:(read|write|admin)$/, 'a permission such as contents:read'),
      )
      .max(64)
      .default([]),
    'Permissions that the token has. If absent, all permissions of the installation.',
    ['contents:read', 'pull_requests:write'],
  ),
  narrow: described(
    z.boolean().default(true),
    'Whether each request is sent with a token limited to the repositories and permissions that its actions need. If these are not known, or with `false`, requests are sent with the token of the Connector.',
    false,
  ),
})

export type GithubAppSpec = z.infer<typeof GithubAppSpec>
