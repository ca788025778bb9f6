import { parseCidr } from '../../../../core/request/address.ts'
import { createEgressProxy, type EgressProxySettings } from '../../../egress-proxy.ts'
import { resolveByDns } from '../../gateways/dial.ts'
import { createCheckedFetch } from '../../oidc/checked-fetch.ts'
import { readLocalSource } from '../local/local-source.ts'
import type { LocalSettings } from '../local/settings.ts'
import { createGithubAppMint } from './github-app.ts'
import { type Mint, MintError } from './mint.ts'
import { createGithubAppNarrowMint, type NarrowMint } from './narrowing/github-app.ts'
import { createOAuth2NarrowMint } from './narrowing/oauth2.ts'
import { createOAuth2Mint } from './oauth2.ts'
import { usableToken } from './usable-token.ts'

/** Settings of the process for calls to the sources of credentials. */
export type SourceSettings = {
  readonly tokenEndpointAllowCidrs: readonly string[]
  readonly egressProxy?: EgressProxySettings
  readonly localSources: LocalSettings
}

/**
 * Creates the sources of short-lived credentials. A credential from an environment variable, file or command takes the
 * place of the stored credential. Tenants of a cluster choose the addresses of token endpoints, so these addresses must
 * be public or in the configured ranges. The manifests folder belongs to the user of the machine, so private addresses
 * are allowed there.
 */
export function createMint(settings: SourceSettings): Mint {
  const fetches = checkedFetches(settings)
  const oauth2 = createOAuth2Mint((source) => fetches[source])
  const githubApp = createGithubAppMint((source) => fetches[source], Date.now)
  return async (request) => {
    const local = await readLocalSource(request, settings.localSources)
    const given = local === null ? request : { ...request, secret: local.secret }
    if (request.credential.oauth2 !== undefined) return oauth2(given)
    if (request.credential.githubApp !== undefined) return githubApp(given)
    if (local === null)
      throw new MintError(
        'The Connector names no source of a short-lived credential, so no token was requested. Name one under credential in its manifest.',
      )
    return { secret: usableToken(local.secret), lifetimeMs: local.lifetimeMs, rotated: null }
  }
}

/** Creates the sources of tokens that are narrowed to one request, with the same address check. */
export function createNarrowMint(
  settings: SourceSettings,
  clock: { nowMs(): number; monotonicMs(): number },
): NarrowMint {
  const fetches = checkedFetches(settings)
  const oauth2 = createOAuth2NarrowMint(createOAuth2Mint((source) => fetches[source]))
  const githubApp = createGithubAppNarrowMint((source) => fetches[source], clock)
  return async (request) => {
    const local = await readLocalSource(request, settings.localSources)
    const given = local === null ? request : { ...request, secret: local.secret }
    return (request.credential.oauth2 === undefined ? githubApp : oauth2)(given)
  }
}

function checkedFetches({ tokenEndpointAllowCidrs, egressProxy }: SourceSettings) {
  const proxy = createEgressProxy(egressProxy)
  const ranges = tokenEndpointAllowCidrs.flatMap((text) => parseCidr(text) ?? [])
  return {
    kubernetes: createCheckedFetch(resolveByDns, proxy, ranges),
    file: createCheckedFetch(resolveByDns, proxy),
  }
}
