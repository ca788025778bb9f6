import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { BlockList, isIP } from 'node:net'
import { isLoopback } from '../core/loopback.ts'
import { hostOf } from '../core/request/outbound-address.ts'

/**
 * HTTP proxies for calls of the control plane to the identity provider, chat, webhooks, push services and the
 * destination of exported records.
 */
export type EgressProxySettings = {
  /** `HTTPS_PROXY`: proxy for https addresses. When null, requests to https addresses use no proxy. */
  readonly https: string | null
  /** `HTTP_PROXY`: proxy for http addresses. When null, requests to http addresses use no proxy. */
  readonly http: string | null
  /**
   * `NO_PROXY`: names, suffixes, addresses and ranges of hosts to which requests use no proxy. `*` means all hosts.
   */
  readonly direct: readonly string[]
}

export type EgressProxy = {
  /**
   * Returns the HTTP agent of Node that sends requests for this address through the proxy; the proxy resolves the host
   * name. Returns undefined when requests for this address use no proxy. Requests to loopback addresses never use a
   * proxy.
   */
  agentFor(url: URL): HttpAgent | undefined
}

export const NO_PROXY: EgressProxy = { agentFor: () => undefined }

export function createEgressProxy(settings: EgressProxySettings | undefined): EgressProxy {
  if (settings === undefined || (settings.https === null && settings.http === null)) return NO_PROXY
  const { https, http, direct } = settings
  const isDirect = directHosts(direct)
  const agents = {
    'https:': https === null ? undefined : new HttpsAgent({ proxyEnv: { HTTPS_PROXY: https } }),
    'http:': http === null ? undefined : new HttpAgent({ proxyEnv: { HTTP_PROXY: http } }),
  }
  return {
    agentFor(url) {
      if (isDirect(hostOf(url))) return undefined
      return url.protocol === 'https:' ? agents['https:'] : agents['http:']
    },
  }
}

/**
 * Reads the settings.
 * @param text Returns the value of an environment variable; null when the variable is not set.
 */
export function readEgressProxy(
  text: (name: 'HTTPS_PROXY' | 'HTTP_PROXY' | 'NO_PROXY') => string | null,
): EgressProxySettings {
  const address = (name: 'HTTPS_PROXY' | 'HTTP_PROXY') => {
    const value = text(name)
    if (value === null || (/^https?:\/\//.test(value) && URL.canParse(value))) return value
    throw new Error(
      `${name} is not an http or https address: set it to the address of the proxy, such as http://proxy:3128`,
    )
  }
  const direct = (text('NO_PROXY') ?? '').split(',').map((entry) => entry.trim())
  return {
    https: address('HTTPS_PROXY'),
    http: address('HTTP_PROXY'),
    direct: direct.filter((entry) => entry !== ''),
  }
}

function directHosts(entries: readonly string[]): (host: string) => boolean {
  const ranges = new BlockList()
  const names: string[] = []
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (isIP(address) === 0) names.push(entry.toLowerCase().replace(/^\*?\./, ''))
    else if (bits === undefined) ranges.addAddress(address, family)
    else ranges.addSubnet(address, Number(bits), family)
  }
  return (host) => {
    if (isLoopback(host) || names.includes('*')) return true
    const family = isIP(host)
    if (family !== 0) return ranges.check(host, family === 6 ? 'ipv6' : 'ipv4')
    return names.some((name) => host === name || host.endsWith(`.${name}`))
  }
}
