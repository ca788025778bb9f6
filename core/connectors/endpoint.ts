import { authorityText } from '../request/authority-text.ts'
import { isRefusal, type Refusal, refusal } from '../request/canonical.ts'
import type { ConnectorConfig, ExecuteSpec } from './connector.ts'
import { baseOf } from './domains.ts'

/** Destination of a request. `host` includes a non-default port; `query` includes its `?`. */
export type Endpoint = { readonly host: string; readonly path: string; readonly query: string }

export type EndpointOptions = {
  /**
   * True if `resource.target` is an address (`host/path`), as in requests that are classified by their method alone.
   */
  readonly targetIsAddress: boolean
  /** True if the path of the connector's base URL is a complete address, so that the spec need not state one. */
  readonly basePathIsEnough: boolean
}

/**
 * Returns the address that an action spec states in `parameters.url` or `resource.target`. If the spec states none, the
 * address is on the connector's only host; its path is `parameters.path`, else the connector's only endpoint, else the
 * path of its base URL. If several fields of the spec are present, they must agree. For a missing or conflicting
 * address, returns a `validation` refusal that names the field.
 */
export function readEndpoint(
  spec: ExecuteSpec,
  config: ConnectorConfig,
  options: EndpointOptions,
): Endpoint | Refusal {
  const path = readPath(spec)
  if (isRefusal(path)) return path
  const stated = statedAddress(spec, options)
  if (isRefusal(stated)) return stated
  if (stated === null) return onOwnHost(path.value, config, options)
  return withPath(stated, path.value)
}

/** Address that a field of the spec states; `path` is undefined if the field states none. */
type Address = { readonly host: string; readonly path: string | undefined; readonly query: string }

function readPath({ parameters: { path } }: ExecuteSpec): { readonly value: string | undefined } | Refusal {
  if (path === undefined) return { value: undefined }
  if (typeof path === 'string' && /^\/[^?#\s]*$/.test(path)) return { value: path }
  return wrong('parameters.path', 'must begin with / and have no query; move the query to parameters.query')
}

function withPath({ host, path: said, query }: Address, path: string | undefined): Endpoint | Refusal {
  if (path !== undefined && said !== undefined && said !== path)
    return wrong('parameters.path', `is ${path}, but the address has the path ${said}; remove one of them`)
  const whole = path ?? said
  return whole === undefined ? missing('parameters.path') : { host, path: whole, query }
}

function statedAddress(spec: ExecuteSpec, { targetIsAddress }: EndpointOptions): Address | Refusal | null {
  const byUrl = readUrl(spec.parameters['url'])
  const byTarget = readTarget(targetIsAddress ? spec.resource.target : undefined)
  if (byUrl === null || byTarget === null || isRefusal(byUrl) || isRefusal(byTarget)) {
    const [refused] = [byUrl, byTarget].filter((one) => one !== null && isRefusal(one))
    return refused ?? byUrl ?? byTarget
  }
  const isSame = byTarget.host === byUrl.host && (byTarget.path ?? byUrl.path) === byUrl.path
  if (isSame) return byUrl
  return wrong(
    'resource.target',
    `differs from parameters.url, which is ${byUrl.host}${byUrl.path}; remove one of them`,
  )
}

function readUrl(url: unknown): Address | Refusal | null {
  if (url === undefined) return null
  const found =
    typeof url === 'string' ? /^https?:\/\/([^/?#@\s]+)(\/[^?#\s]*)?(\?[^#\s]*)?$/i.exec(url) : null
  const [, host, path = '/', query = ''] = found ?? []
  return host === undefined ? wrong('parameters.url', 'must be an http or https URL') : { host, path, query }
}

function readTarget(target: string | undefined): Address | Refusal | null {
  if (target === undefined) return null
  const [, host, path] = /^(?:https?:\/\/)?([^/?#@\s]+)(\/[^?#\s]*)?$/i.exec(target) ?? []
  return host === undefined
    ? wrong('resource.target', 'must be an address of the form host/path')
    : { host, path, query: '' }
}

function onOwnHost(
  path: string | undefined,
  config: ConnectorConfig,
  { targetIsAddress, basePathIsEnough }: EndpointOptions,
): Endpoint | Refusal {
  const own = ownHost(config)
  if (own === null) return missing(targetIsAddress ? 'resource.target' : 'parameters.url')
  if (path !== undefined) return { host: own.host, path: (own.prefix ?? '') + path, query: '' }
  const declared = onlyEndpoint(config)
  if (declared !== null) return { host: own.host, path: declared, query: '' }
  if (own.prefix === null || !basePathIsEnough) return missing('parameters.path')
  return { host: own.host, path: own.prefix || '/', query: '' }
}

function onlyEndpoint({ endpoint = [] }: ConnectorConfig): string | null {
  return endpoint.length === 1 ? (endpoint[0] ?? null) : null
}

/** Returns the host of the base URL, else the only domain; null for several domains, a wildcard, or no domain. */
function ownHost(config: ConnectorConfig): { readonly host: string; readonly prefix: string | null } | null {
  const base = baseOf(config)
  if (base !== null)
    return { host: hostOf(base), prefix: base.segments.map((segment) => `/${segment}`).join('') }
  const [only, ...others] = config.domains
  return only === undefined || others.length > 0 || only.startsWith('*') ? null : { host: only, prefix: null }
}

function hostOf({ scheme, host, port }: NonNullable<ReturnType<typeof baseOf>>): string {
  return authorityText(host, port, scheme === 'http' ? 80 : 443)
}

/** Returns a `validation` refusal that names the field, in the form of spec 7.2. */
export function wrong(field: string, message: string): Refusal {
  return refusal('validation', `action_spec.${field}: ${message}`)
}

const FORM: Readonly<Record<string, string>> = {
  'resource.target': ', as host/path',
  'parameters.url': ', as https://host/path',
}

export function missing(field: string): Refusal {
  return wrong(field, `is required to execute the action${FORM[field] ?? ''}`)
}

/** Refuses parameters that the execution ignores. An approval would include them, so an approver could rely on them. */
export function refuseUnknown(spec: ExecuteSpec, known: readonly string[]): Refusal | null {
  const unknown = Object.keys(spec.parameters).filter((name) => !known.includes(name))
  if (unknown.length === 0) return null
  const sentences = unknown.map(
    (name) => `action_spec.parameters.${name}: has no effect on this action; use ${known.join(', ')}`,
  )
  return refusal('validation', sentences.join('; '))
}
