import { exposesCredential } from '../../../core/connectors/credentials/clear-text.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { fieldMessage } from '../../../core/schema/field-message.ts'
import { validationError } from '../../http/input.ts'
import { authOf, missingDomains, wrongAuth } from './domains.ts'

/** A connector as a user enters it. `token`: the credential in plain text. */
export type NewConnector = {
  readonly type: ConnectorSpec['type']
  /** Name of a new connector, a DNS label. Default: the type, with a number when the name is taken. */
  readonly name?: string | undefined
  readonly token: string
  readonly domains?: readonly string[] | undefined
  readonly auth_type?: 'bearer' | 'token' | 'basic' | 'header' | 'none' | undefined
  readonly header?: string | undefined
  /** Base URL of a self-hosted instance. If `domains` are also given, requests to all of them go to this URL. */
  readonly base_url?: string | undefined
  /**
   * True to permit requests to private addresses. Default: the stored value of an existing connector, otherwise false.
   */
  readonly allow_private_addresses?: boolean | undefined
  readonly allow_plaintext_credential?: boolean | undefined
  readonly endpoint?: readonly string[] | undefined
  readonly bodies?: 'opaque' | undefined
}

/**
 * Converts the input to the spec of a connector. Throws `validation` with the names of the invalid fields; each name
 * begins with `path`.
 */
export function connectorSpec(input: NewConnector, path: string): ConnectorSpec {
  const authType = input.auth_type ?? (input.header === undefined ? undefined : 'header')
  const header = input.header === undefined ? {} : { header: input.header }
  const stated = {
    type: input.type,
    domains: input.domains,
    baseUrl: input.base_url,
    endpoint: input.endpoint,
    upstream: upstreamOf(input),
    bodies: input.bodies,
    auth: authType === undefined ? undefined : { type: authType, ...header },
  }
  const result = ConnectorSpec.safeParse(stated, { error: fieldMessage })
  const at = (field: string) => fieldAt(path, field)
  if (!result.success) {
    throw validationError(result.error.issues.map((issue) => `${at(fieldOf(issue.path))}: ${issue.message}`))
  }
  const domainProblem = missingDomains(result.data)
  if (domainProblem !== null) throw validationError([`${at('domains')}: ${domainProblem}`])
  if (input.endpoint !== undefined && input.type !== 'mcp')
    throw validationError([`${at('endpoint')}: is for connectors of type mcp only; remove the field`])
  const authProblem = wrongAuth(result.data.auth)
  if (authProblem !== null) throw validationError([`${at('header')}: ${authProblem}`])
  return result.data
}

/** Throws `validation` when the credential would cross the network in clear text. */
export function refusePlaintext(spec: ConnectorSpec, path: string): void {
  if (exposesCredential({ upstream: spec.upstream, auth: authOf(spec) }))
    throw validationError([`${fieldAt(path, 'base_url')}: ${PLAINTEXT_BASE_URL}`])
}

const PLAINTEXT_BASE_URL =
  'is plain http, so the credential would cross the network in clear text; use https, or set allow_plaintext_credential: true'

/**
 * Returns the URL of the upstream. The result has a URL only when the connector has a base URL and other domains, which
 * are further names of the same instance.
 */
function upstreamOf({ domains = [], base_url }: NewConnector): { url?: string } {
  const base = base_url === undefined ? null : URL.parse(base_url)
  const hasOthers = domains.some((domain) => domain.toLowerCase() !== base?.hostname)
  return base !== null && hasOthers ? { url: base.origin } : {}
}

/**
 * Returns the path of a field in the request body. `path`: path of the connector; empty when the body is the connector.
 */
export function fieldAt(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`
}

/** Returns the name of the request field for a path in the spec of the connector. */
function fieldOf(path: readonly PropertyKey[]): string {
  if (path[0] === 'baseUrl' || path[0] === 'upstream') return 'base_url'
  if (path[0] === 'auth') return path[1] === 'header' ? 'header' : 'auth_type'
  return path.map(String).join('.')
}
