import { stringify } from 'yaml'
import { authorityText } from '../../request/authority-text.ts'
import { API_VERSION } from '../schemas.ts'

export type UnownedHostManifests = {
  /**
   * Manifests of a Connector for the host, and of a Permission that allows reads. Null if only the egress list of the
   * Gateway can allow the host.
   */
  readonly connector: string | null
  /** Lines for the Gateway manifest that allow the host without decryption. */
  readonly egress: string
}

export type UnownedHostFacts = {
  readonly host: string
  readonly port: number
  /** Name of the Gateway, as `namespace/name`. */
  readonly gateway: string
  /** Names of the agents that requested the host; `namespace/name` on a cluster. */
  readonly agents: readonly string[]
  /** True if the connection used neither TLS with a server name nor HTTP. */
  readonly isOtherProtocol: boolean
}

const HTTPS_PORT = 443
const YAML = { lineWidth: 110 } as const
const MAX_NAME = 63

/**
 * Returns the manifests of a Connector and the egress lines of a Gateway. Either of the two lets agents reach a host
 * that no Connector owns.
 */
export function unownedHostManifests(facts: UnownedHostFacts): UnownedHostManifests {
  const isName = /[a-z]/.test(facts.host) && !facts.host.includes(':')
  return {
    connector: isName && !facts.isOtherProtocol ? connectorText(facts) : null,
    egress: egressText(facts),
  }
}

function connectorText({ host, port, gateway, agents }: UnownedHostFacts): string {
  const [gatewayNamespace, name] = splitName(gateway)
  const namespace = namespaceOf(agents) ?? gatewayNamespace
  const metadata = { name: nameOf(host), namespace }
  const gatewayRefs = [namespace === gatewayNamespace ? { name } : { name, namespace: gatewayNamespace }]
  const connector = {
    apiVersion: API_VERSION,
    kind: 'Connector',
    metadata,
    spec: {
      gatewayRefs,
      type: 'generic',
      domains: [host],
      ...(port === HTTPS_PORT ? {} : { ports: [port] }),
      auth: { type: 'none' },
    },
  }
  const permission = {
    apiVersion: API_VERSION,
    kind: 'Permission',
    metadata,
    spec: {
      gatewayRefs,
      agents: ['*'],
      rules: [{ connectorType: 'generic', actionPattern: 'generic.get', decision: 'allow' }],
    },
  }
  return `# Requests are decrypted, decided and recorded.
${stringify(connector, YAML)}---
# Allows only reading, for every generic Connector of the Gateway. Add rules to allow more.
${stringify(permission, YAML)}`
}

function egressText({ host, port, gateway, isOtherProtocol }: UnownedHostFacts): string {
  const entry = authorityText(host, port, HTTPS_PORT)
  const egress = isOtherProtocol ? { tcp: [{ host, port }] } : { allowedHosts: [entry] }
  return `# Add to the manifest of Gateway ${gateway}: connections to the host are recorded but not decrypted.
${stringify({ spec: { egress } }, YAML)}`
}

function nameOf(host: string): string {
  const name = host
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .slice(0, MAX_NAME)
  return name.replace(/^[-.]+|[-.]+$/g, '') || 'host'
}

/** Returns the namespace that all agents share; null if the agents have several namespaces or none. */
function namespaceOf(agents: readonly string[]): string | null {
  const [namespace, ...others] = new Set(agents.map((agent) => agent.split('/').slice(0, -1)[0] ?? ''))
  return namespace === undefined || namespace === '' || others.length > 0 ? null : namespace
}

function splitName(gateway: string): readonly [namespace: string, name: string] {
  const slash = gateway.indexOf('/')
  return slash === -1 ? ['default', gateway] : [gateway.slice(0, slash), gateway.slice(slash + 1)]
}
